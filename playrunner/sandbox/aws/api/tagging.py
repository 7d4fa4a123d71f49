"""The tagging API, honest: everything that is there and tagged, nothing that is gone, and (as in
AWS) no IAM."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from moto.core.resource_tagging import iter_taggable_backends, make_tag_matcher, match_resource_type
from moto.ecr.models import ecr_backends

from playrunner.sandbox.aws.api.aws_state import ACCOUNT
from playrunner.sandbox.aws.api.wire import AwsError, Call, Reply, page
from playrunner.sandbox.aws.ec2 import network
from playrunner.sandbox.aws.eks import tags as eks_tags

# What `everything` covers: tags of such an id without its thing are left over.
LISTED = (
    "vpc-",
    "subnet-",
    "i-",
    "sg-",
    "rtb-",
    "igw-",
    "eni-",
    "vol-",
    "eipalloc-",
    "lt-",
    "key-",
    "pg-",
    "vpce-",
)
NOT_FROM_MOTO = ("eks:", "fsx:", "ecr:")


@dataclass(frozen=True)
class Tagged:
    """One resource: its type, its ARN, and the tags it has now."""

    kind: str
    arn: str
    tags: dict[str, str]


def get_resources(call: Call) -> dict[str, Any]:
    params = call.params
    matches = make_tag_matcher(params.get("TagFilters"))
    arns = params.get("ResourceARNList")
    matching = [
        resource
        for resource in everything(call)
        if resource.tags
        and matches(resource.tags)
        and match_resource_type(resource.kind, params.get("ResourceTypeFilters"))
        and (not arns or resource.arn in arns)
    ]
    listing = [
        {
            "ResourceARN": resource.arn,
            "Tags": [{"Key": key, "Value": value} for key, value in resource.tags.items()],
        }
        for resource in matching
    ]
    return page(listing, params, "ResourceTagMappingList", "ResourcesPerPage", "PaginationToken")


def everything(call: Call) -> Iterator[Tagged]:
    """Every resource of the region that the tagging API knows, tagged or not."""
    gone = _gone_arns(call)
    for backend in iter_taggable_backends(ACCOUNT, call.region_name):
        for one in backend.iter_tagged_resources():
            if not one.resource_type.startswith(NOT_FROM_MOTO) and one.arn not in gone:
                yield Tagged(one.resource_type, one.arn, one.tags)
    yield from _more_of_ec2(call)
    for kind, arn, thing in eks_tags.resources(call.region):
        yield Tagged(kind, arn, thing["tags"])
    for file_system in call.region.fsx.values():
        yield Tagged(
            "fsx:file-system",
            file_system["ResourceARN"],
            {tag["Key"]: tag["Value"] for tag in file_system["Tags"]},
        )
    ecr = ecr_backends[ACCOUNT][call.region_name]
    for repository in ecr.repositories.values():
        yield Tagged(
            "ecr:repository", repository.arn, ecr.tagger.get_tag_dict_for_resource(repository.arn)
        )


def _gone_arns(call: Call) -> set[str]:
    ec2 = network.backend(call.region_name)
    instances = [one for reservation in ec2.reservations.values() for one in reservation.instances]
    ended = [f"instance/{one.id}" for one in instances if one.state == "terminated"]
    ended += [f"natgateway/{one.id}" for one in ec2.nat_gateways.values() if one.state == "deleted"]
    return {f"arn:aws:ec2:{call.region_name}:{ACCOUNT}:{one}" for one in ended}


def _more_of_ec2(call: Call) -> Iterator[Tagged]:
    """What moto's EC2 has (or we have) but does not report."""
    ec2 = network.backend(call.region_name)
    ids = [("launch-template", template.id) for template in ec2.launch_templates.values()]
    ids += [
        ("elastic-ip", address.allocation_id) for address in ec2.addresses if address.allocation_id
    ]
    ids += [
        ("vpc-endpoint", endpoint.id)
        for endpoint in ec2.vpc_end_points.values()
        if endpoint.state != "deleted"
    ]
    ids += [("key-pair", key_pair.id) for key_pair in ec2.key_pairs.values()]
    ids += [("network-acl", acl.id) for acl in ec2.network_acls.values()]
    for kind, number in ids:
        yield Tagged(
            f"ec2:{kind}",
            f"arn:aws:ec2:{call.region_name}:{ACCOUNT}:{kind}/{number}",
            dict(ec2.tags.get(number, {})),
        )
    for group in call.region.placement_groups.values():
        yield Tagged(
            "ec2:placement-group", group["GroupArn"], dict(ec2.tags.get(group["GroupId"], {}))
        )


def describe_tags(call: Call, moto: Callable[[], Reply]) -> Reply:
    """EC2's own listing of tags; moto keeps those of things that are gone."""
    there = {resource.arn.rpartition("/")[2] for resource in everything(call)} | {
        group["GroupId"] for group in call.region.placement_groups.values()
    }
    instances = {
        instance.id
        for reservation in network.backend(call.region_name).reservations.values()
        for instance in reservation.instances
    }
    tags = network.backend(call.region_name).tags
    for number in [
        tagged for tagged in tags if tagged.startswith(LISTED) and tagged not in there | instances
    ]:
        del tags[number]
    return moto()


def _as_dict(tags: list[dict[str, str]]) -> dict[str, str]:
    return {tag["Key"]: tag["Value"] for tag in tags}


def get_tag_keys(call: Call) -> dict[str, Any]:
    return page(
        sorted({key for one in everything(call) for key in one.tags}),
        call.params,
        "TagKeys",
        "MaxResults",
        "PaginationToken",
    )


def get_tag_values(call: Call) -> dict[str, Any]:
    values = sorted(
        {one.tags[call.params["Key"]] for one in everything(call) if call.params["Key"] in one.tags}
    )
    return page(values, call.params, "TagValues", "MaxResults", "PaginationToken")


def tag_resources(call: Call) -> dict[str, Any]:
    return {"FailedResourcesMap": _each(call, lambda tags: tags.update(call.params["Tags"]))}


def untag_resources(call: Call) -> dict[str, Any]:
    return {
        "FailedResourcesMap": _each(
            call, lambda tags: [tags.pop(key, None) for key in call.params["TagKeys"]]
        )
    }


def _each(call: Call, change: Any) -> dict[str, Any]:
    failed = {}
    for arn in call.params["ResourceARNList"]:
        try:
            _change_tags(call, arn, change)
        except AwsError as error:
            failed[arn] = {
                "StatusCode": error.status,
                "ErrorCode": error.code,
                "ErrorMessage": error.message,
            }
    return failed


def _change_tags(call: Call, arn: str, change: Any) -> None:
    service = arn.split(":")[2]
    if service == "ec2":
        number = arn.rpartition("/")[2]
        group = call.region.placement_groups.get(number)
        change(network.backend(call.region_name).tags[group["GroupId"] if group else number])
        return
    for _, known, thing in eks_tags.resources(call.region):
        if known == arn:
            change(thing["tags"])
            return
    file_system = next((one for one in call.region.fsx.values() if one["ResourceARN"] == arn), None)
    if file_system is None:
        raise AwsError(
            "InvalidParameterException", f"the sandbox tags {service} through its own API only", 400
        )
    tags = _as_dict(file_system["Tags"])
    change(tags)
    file_system["Tags"] = [{"Key": key, "Value": value} for key, value in tags.items()]


ANSWERS = {
    "GetResources": get_resources,
    "GetTagKeys": get_tag_keys,
    "GetTagValues": get_tag_values,
    "TagResources": tag_resources,
    "UntagResources": untag_resources,
}
AROUND = {"DescribeTags": describe_tags}
