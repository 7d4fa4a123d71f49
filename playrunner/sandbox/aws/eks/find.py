"""The EKS cluster that a call is about."""

from __future__ import annotations

from typing import Any

from playrunner.sandbox.aws.api.wire import AwsError, Call


def find(call: Call, name: str | None = None) -> dict[str, Any]:
    """The cluster a call is about."""
    name = name or call.params.get("clusterName") or call.params["name"]
    cluster = call.region.clusters.get(name)
    if cluster is None:
        raise AwsError(
            "ResourceNotFoundException",
            f"No cluster found for name: {name}.",
            404,
            clusterName=name,
        )
    return cluster


def find_active(call: Call) -> dict[str, Any]:
    """The cluster a call is about, ready to be worked with."""
    cluster = find(call)
    if cluster["status"] not in ("ACTIVE", "UPDATING"):
        raise AwsError(
            "InvalidRequestException",
            f"Cluster '{cluster['name']}' is not in ACTIVE status",
            clusterName=cluster["name"],
        )
    return cluster
