"""Tags on anything of EKS, found by its ARN."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from playrunner.sandbox.aws.api.aws_state import Region
from playrunner.sandbox.aws.api.wire import AwsError, Call


def resources(region: Region) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Every EKS resource of a region: type, ARN, description (with its `tags`)."""
    for cluster in region.clusters.values():
        yield "eks:cluster", cluster["arn"], cluster
    for nodegroup in region.nodegroups.values():
        yield "eks:nodegroup", nodegroup["arn"], nodegroup
    for addon in region.addons.values():
        yield "eks:addon", addon["arn"], addon
    for entry in region.access_entries.values():
        yield "eks:access-entry", entry["accessEntryArn"], entry
    for association in region.pod_identities.values():
        yield "eks:podidentityassociation", association["associationArn"], association


def tag_resource(call: Call) -> dict[str, Any]:
    _find(call)["tags"].update(call.params["tags"])
    return {}


def untag_resource(call: Call) -> dict[str, Any]:
    tags = _find(call)["tags"]
    for key in call.params["tagKeys"]:
        tags.pop(key, None)
    return {}


def list_tags_for_resource(call: Call) -> dict[str, Any]:
    return {"tags": _find(call)["tags"]}


def _find(call: Call) -> dict[str, Any]:
    for _, arn, thing in resources(call.region):
        if arn == call.params["resourceArn"]:
            return thing
    raise AwsError("NotFoundException", f"{call.params['resourceArn']} not found", 404)


ANSWERS = {
    "TagResource": tag_resource,
    "UntagResource": untag_resource,
    "ListTagsForResource": list_tags_for_resource,
}
