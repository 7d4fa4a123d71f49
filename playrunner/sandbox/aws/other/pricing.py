"""The price list API over the table in `prices.py`: enough of a product's shape to find an hourly
price."""

from __future__ import annotations

import json
from typing import Any

from playrunner.sandbox.aws.api.wire import AwsError, Call, page
from playrunner.sandbox.aws.other import prices

LOCATIONS = {"us-east-1": "US East (N. Virginia)", "us-west-2": "US West (Oregon)"}


def get_products(call: Call) -> dict[str, Any]:
    if call.params.get("ServiceCode") != "AmazonEC2":
        raise AwsError(
            "NotFoundException",
            "the sandbox's price list has AmazonEC2; the rest is at /_sandbox/prices",
            404,
        )
    wanted = {filter_["Field"]: filter_["Value"] for filter_ in call.params.get("Filters") or []}
    products = [
        _product(name, price, region)
        for name, price in prices.INSTANCE_HOUR.items()
        for region in prices.REGIONS
    ]
    matching = [
        product
        for product in products
        if all(
            product["product"]["attributes"].get(field) == value for field, value in wanted.items()
        )
    ]
    answer = page(
        [json.dumps(product) for product in matching],
        call.params,
        "PriceList",
        "MaxResults",
        "NextToken",
    )
    return {"FormatVersion": "aws_v1", **answer}


def _product(name: str, price: float, region: str) -> dict[str, Any]:
    sku = f"{name}-{region}".upper().replace(".", "").replace("-", "")
    rate = {
        "unit": "Hrs",
        "pricePerUnit": {"USD": f"{price:.10f}"},
        "description": f"${price} per On Demand Linux {name} Instance Hour",
    }
    term = {
        "sku": sku,
        "effectiveDate": f"{prices.DATED}-01T00:00:00Z",
        "priceDimensions": {f"{sku}.JRTCKXETXF.6YS6EN2CT7": rate},
    }
    attributes = {
        "instanceType": name,
        "regionCode": region,
        "location": LOCATIONS[region],
        "operatingSystem": "Linux",
        "tenancy": "Shared",
        "preInstalledSw": "NA",
        "capacitystatus": "Used",
        "licenseModel": "No License required",
        "marketoption": "OnDemand",
    }
    product = {"productFamily": "Compute Instance", "sku": sku, "attributes": attributes}
    return {
        "product": product,
        "serviceCode": "AmazonEC2",
        "terms": {"OnDemand": {f"{sku}.JRTCKXETXF": term}},
        "publicationDate": prices.DATED,
    }


ANSWERS = {"GetProducts": get_products}
