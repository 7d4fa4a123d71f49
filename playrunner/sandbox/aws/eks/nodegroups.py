"""EKS managed nodegroups: validated, slow, with instances behind them, or a reason why there are
none."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from playrunner.sandbox.aws.api.tokens import forget, once
from playrunner.sandbox.aws.api.wire import AwsError, Call, page
from playrunner.sandbox.aws.ec2 import machines, network
from playrunner.sandbox.aws.eks import nodes
from playrunner.sandbox.aws.eks.access import admit
from playrunner.sandbox.aws.eks.cluster_description import BAD
from playrunner.sandbox.aws.eks.find import find, find_active
from playrunner.sandbox.aws.eks.nodegroup_description import (
    check_types,
    checked_sizes,
    new_nodegroup,
    template_of,
)
from playrunner.sandbox.aws.eks.updates import begin_update
from playrunner.sandbox.faults import Fault


def create_nodegroup(call: Call) -> dict[str, Any]:
    return once(call, call.params.get("clientRequestToken"), lambda: _create(call))


def _create(call: Call) -> dict[str, Any]:
    cluster, params = find_active(call), call.params
    key = cluster["name"], params["nodegroupName"]
    if key in call.region.nodegroups:
        said = f"NodeGroup already exists with name {key[1]} and cluster name {key[0]}"
        raise AwsError(
            "ResourceInUseException", said, 409, clusterName=key[0], nodegroupName=key[1]
        )
    sizes = checked_sizes(
        {"minSize": 1, "maxSize": 2, "desiredSize": 2, **(params.get("scalingConfig") or {})}
    )
    network.find_role(params["nodeRole"], "ec2.amazonaws.com", BAD, "nodeRole")
    subnets = network.find_subnets(call, params["subnets"], BAD)
    if any(subnet.vpc_id != cluster["resourcesVpcConfig"]["vpcId"] for subnet in subnets):
        raise AwsError(BAD, "Subnets are not in the cluster's VPC")
    nodegroup = new_nodegroup(call, cluster, sizes, template_of(call))
    check_types(nodes.types(call, nodegroup))
    if nodegroup["remoteAccess"]:
        nodes.open_remote_access(call, nodegroup, cluster["resourcesVpcConfig"]["vpcId"])
    call.region.nodegroups[key] = nodegroup
    if (
        "API" in cluster["accessConfig"]["authenticationMode"]
        and (key[0], params["nodeRole"]) not in call.region.access_entries
    ):
        admit(
            call,
            key[0],
            params["nodeRole"],
            "EC2_LINUX",
            username="system:node:{{EC2PrivateDNSName}}",
        )
    _schedule(call, cluster, nodegroup)
    return {"nodegroup": nodegroup}


def _schedule(call: Call, cluster: dict[str, Any], nodegroup: dict[str, Any]) -> None:
    """Decide now how it will end; the reason of a failure shows before the end, as EKS reports
    it."""
    failure = call.state.faults.fails_later("eks", "CreateNodegroup", nodegroup["nodegroupName"])
    placed = None if failure else nodes.placed(call, nodegroup)
    if placed is not None:
        call.state.later(
            "eks.nodegroup.create", lambda: _become_active(call, cluster, nodegroup, *placed)
        )
        return
    issue = _issue(call, nodegroup, failure)
    seconds = call.state.settings.delays["eks.nodegroup.create"]
    call.state.timeline.after(seconds / 2, lambda: nodegroup.update(health={"issues": [issue]}))
    call.state.timeline.after(
        seconds,
        lambda: (
            nodegroup.update(status="CREATE_FAILED") if nodegroup["status"] == "CREATING" else None
        ),
    )


def _issue(call: Call, nodegroup: dict[str, Any], failure: Fault | None) -> dict[str, Any]:
    group = nodegroup["resources"]["autoScalingGroups"][0]["name"]
    if failure is not None:
        code, message = (
            failure.code or "NodeCreationFailure",
            failure.message or "Instances failed to join the cluster",
        )
    else:
        code, kind = "AsgInstanceLaunchFailures", nodes.types(call, nodegroup)[0]
        message = (
            "Could not launch On-Demand Instances. InsufficientInstanceCapacity - We currently do"
            f" not have sufficient {kind} capacity in the Availability Zone you requested."
            " Launching EC2 instance failed."
        )
    return {"code": code, "message": message, "resourceIds": [group]}


def _become_active(
    call: Call, cluster: dict[str, Any], nodegroup: dict[str, Any], kind: str, subnets: list[Any]
) -> None:
    if nodegroup["status"] == "CREATING":
        nodes.grow(call, nodegroup, kind, subnets, nodegroup["scalingConfig"]["desiredSize"])
        nodegroup["status"] = "ACTIVE"


def _find(call: Call) -> dict[str, Any]:
    key = find(call)["name"], call.params["nodegroupName"]
    if key not in call.region.nodegroups:
        said = f"No node group found for name: {key[1]}."
        raise AwsError(
            "ResourceNotFoundException", said, 404, clusterName=key[0], nodegroupName=key[1]
        )
    return call.region.nodegroups[key]


def describe_nodegroup(call: Call) -> dict[str, Any]:
    return {"nodegroup": _find(call)}


def list_nodegroups(call: Call) -> dict[str, Any]:
    name = find(call)["name"]
    return page(
        sorted(group for owner, group in call.region.nodegroups if owner == name),
        call.params,
        "nodegroups",
    )


def delete_nodegroup(call: Call) -> dict[str, Any]:
    nodegroup = _find(call)
    if nodegroup["status"] in ("CREATING", "UPDATING", "DELETING"):
        raise AwsError(
            "ResourceInUseException", f"Nodegroup is in {nodegroup['status']} status", 409
        )
    nodegroup["status"] = "DELETING"
    key = nodegroup["clusterName"], nodegroup["nodegroupName"]
    machines.end(call, call.region.nodes.pop(key, []))
    call.state.later("eks.nodegroup.delete", lambda: _gone(call, key))
    return {"nodegroup": nodegroup}


def _gone(call: Call, key: tuple[str, str]) -> None:
    nodegroup = call.region.nodegroups.pop(key)
    nodes.close_remote_access(call, nodegroup)
    forget(call, nodegroup)


def update_nodegroup_config(call: Call) -> dict[str, Any]:
    nodegroup, params = _find(call), call.params
    if nodegroup["status"] != "ACTIVE":
        raise AwsError(
            "ResourceInUseException",
            f"Nodegroup cannot be updated as it is currently in {nodegroup['status']} status",
            409,
        )
    changes: dict[str, Any] = {"modifiedAt": datetime.now(UTC)}
    if params.get("scalingConfig"):
        changes["scalingConfig"] = checked_sizes(
            {**nodegroup["scalingConfig"], **params["scalingConfig"]}
        )
    if params.get("labels"):
        labels = {**nodegroup["labels"], **(params["labels"].get("addOrUpdateLabels") or {})}
        changes["labels"] = {
            key: value
            for key, value in labels.items()
            if key not in (params["labels"].get("removeLabels") or [])
        }
    if params.get("taints"):
        gone = (params["taints"].get("removeTaints") or []) + (
            params["taints"].get("addOrUpdateTaints") or []
        )
        kept = [
            one
            for one in nodegroup["taints"]
            if (one["key"], one["effect"]) not in {(two["key"], two["effect"]) for two in gone}
        ]
        changes["taints"] = kept + (params["taints"].get("addOrUpdateTaints") or [])
    if params.get("updateConfig"):
        changes["updateConfig"] = params["updateConfig"]
    return {
        "update": begin_update(
            call,
            nodegroup,
            "ConfigUpdate",
            changes,
            "eks.nodegroup.update",
            lambda: nodes.resize(call, nodegroup),
        )
    }


def update_nodegroup_version(call: Call) -> dict[str, Any]:
    nodegroup = _find(call)
    version = call.params.get("version") or find(call)["version"]
    changes = {"version": version, "releaseVersion": f"{version}.1-20251101"}
    if call.params.get("launchTemplate"):
        changes["launchTemplate"] = {
            **(nodegroup["launchTemplate"] or {}),
            **call.params["launchTemplate"],
        }
    return {
        "update": begin_update(call, nodegroup, "VersionUpdate", changes, "eks.nodegroup.update")
    }


ANSWERS = {
    "CreateNodegroup": create_nodegroup,
    "DescribeNodegroup": describe_nodegroup,
    "ListNodegroups": list_nodegroups,
    "DeleteNodegroup": delete_nodegroup,
    "UpdateNodegroupConfig": update_nodegroup_config,
    "UpdateNodegroupVersion": update_nodegroup_version,
}
