"""Service quotas that a cluster runs into: vCPUs by family, addresses, VPCs, clusters, file
systems."""

from __future__ import annotations

import uuid
from datetime import UTC, datetime
from typing import Any

from playrunner.sandbox.aws.api.aws_state import ACCOUNT
from playrunner.sandbox.aws.api.wire import AwsError, Call, page

# service: code: name, value (what an account that was used a little has), unit
QUOTAS: dict[str, dict[str, tuple[str, float]]] = {
    "ec2": {
        "L-1216C47A": ("Running On-Demand Standard (A, C, D, H, I, M, R, T, Z) instances", 256),
        "L-34B43A08": ("All Standard (A, C, D, H, I, M, R, T, Z) Spot Instance Requests", 256),
        "L-DB2E81BA": ("Running On-Demand G and VT instances", 128),
        "L-3819A6DF": ("All G and VT Spot Instance Requests", 128),
        "L-417A185B": ("Running On-Demand P instances", 1536),
        "L-7212CCBC": ("All P4, P3 and P2 Spot Instance Requests", 384),
        "L-C4BD4855": ("All P5 Spot Instance Requests", 192),
        "L-2C3B7624": ("Running On-Demand Trn instances", 512),
        "L-6B0D517C": ("All Trn Spot Instance Requests", 512),
        "L-1945791B": ("Running On-Demand Inf instances", 64),
        "L-0263D0A3": ("EC2-VPC Elastic IPs", 5),
    },
    "vpc": {
        "L-F678F1CE": ("VPCs per Region", 5),
        "L-FE5A380F": ("NAT gateways per Availability Zone", 5),
        "L-A4707A72": ("Internet gateways per Region", 5),
        "L-E79EC296": ("VPC security groups per Region", 2500),
        "L-DF5E4CA3": ("Network interfaces per Region", 5000),
    },
    "eks": {
        "L-1194D53C": ("Clusters", 100),
        "L-6D54EA21": ("Managed node groups per cluster", 30),
        "L-BD136A63": ("Nodes per managed node group", 450),
    },
    "elasticfilesystem": {"L-848C634D": ("File systems per account", 1000)},
    "fsx": {
        "L-E8102FCE": ("Lustre Scratch_2 storage capacity (GiB)", 100800),
        "L-5B2B3A6F": ("Lustre Persistent_1 storage capacity (GiB)", 100800),
    },
    "ecr": {"L-CFEB8E8D": ("Registered repositories", 100000)},
}


def get_service_quota(call: Call) -> dict[str, Any]:
    service, code = call.params["ServiceCode"], call.params["QuotaCode"]
    if code not in QUOTAS.get(service, {}):
        raise AwsError(
            "NoSuchResourceException",
            f"The request failed because the specified quota {service}/{code} does not exist.",
        )
    return {"Quota": _described(call, service, code)}


def list_service_quotas(call: Call) -> dict[str, Any]:
    service = call.params["ServiceCode"]
    if service not in QUOTAS:
        raise AwsError(
            "NoSuchResourceException",
            f"The request failed because the specified service {service} does not exist.",
        )
    return page(
        [_described(call, service, code) for code in QUOTAS[service]],
        call.params,
        "Quotas",
        "MaxResults",
        "NextToken",
    )


def list_services(call: Call) -> dict[str, Any]:
    return {"Services": [{"ServiceCode": service, "ServiceName": service} for service in QUOTAS]}


def _described(call: Call, service: str, code: str) -> dict[str, Any]:
    name, value = QUOTAS[service][code]
    return {
        "ServiceCode": service,
        "ServiceName": service,
        "QuotaArn": f"arn:aws:servicequotas:{call.region_name}:{ACCOUNT}:{service}/{code}",
        "QuotaCode": code,
        "QuotaName": name,
        "Value": call.state.settings.quotas.get(code, value),
        "Unit": "None",
        "Adjustable": True,
        "GlobalQuota": False,
    }


def request_increase(call: Call) -> dict[str, Any]:
    """Kept as PENDING, as a person of AWS would find it; `quotas` of the settings grants it."""
    params = call.params
    quota = get_service_quota(call)["Quota"]
    wanted = float(params["DesiredValue"])
    if wanted <= quota["Value"]:
        raise AwsError(
            "IllegalArgumentException",
            "The request failed because the desired value must be greater than the current value"
            f" of {quota['Value']:g}.",
        )
    if any(request["Status"] == "PENDING" for request in _requests(call)):
        raise AwsError(
            "ResourceAlreadyExistsException",
            "Only one open service quota increase request is allowed per quota.",
        )
    request = {
        "Id": uuid.uuid4().hex,
        "ServiceCode": params["ServiceCode"],
        "ServiceName": params["ServiceCode"],
        "QuotaCode": params["QuotaCode"],
        "QuotaName": quota["QuotaName"],
        "DesiredValue": wanted,
        "Status": "PENDING",
        "Created": datetime.now(UTC),
        "GlobalQuota": False,
        "Unit": "None",
    }
    call.region.quota_requests.append(request)
    return {"RequestedQuota": request}


def list_requests(call: Call) -> dict[str, Any]:
    wanted = call.params.get("Status")
    found = [one for one in _requests(call) if wanted in (None, one["Status"])]
    return page(found, call.params, "RequestedQuotas", "MaxResults", "NextToken")


def _requests(call: Call) -> list[dict[str, Any]]:
    return [
        {**request, "Status": _status(call, request)}
        for request in call.region.quota_requests
        if all(
            call.params.get(name) in (None, request[name]) for name in ("ServiceCode", "QuotaCode")
        )
    ]


def _status(call: Call, request: dict[str, Any]) -> str:
    value = call.state.settings.quotas.get(request["QuotaCode"], 0.0)
    return "APPROVED" if value >= request["DesiredValue"] else "PENDING"


ANSWERS = {
    "RequestServiceQuotaIncrease": request_increase,
    "ListRequestedServiceQuotaChangeHistory": list_requests,
    "ListRequestedServiceQuotaChangeHistoryByQuota": list_requests,
    "GetServiceQuota": get_service_quota,
    "GetAWSDefaultServiceQuota": get_service_quota,
    "ListServiceQuotas": list_service_quotas,
    "ListAWSDefaultServiceQuotas": list_service_quotas,
    "ListServices": list_services,
}
