"""EKS clusters: they take their time, have a group and interfaces in the VPC, and cannot go before
their parts."""

from __future__ import annotations

import base64
import re
import uuid
from typing import Any

from moto.logs.models import logs_backends

from playrunner.sandbox.aws.api.aws_state import ACCOUNT, Region
from playrunner.sandbox.aws.api.tokens import forget, once
from playrunner.sandbox.aws.api.wire import AwsError, Call, page
from playrunner.sandbox.aws.ec2 import network
from playrunner.sandbox.aws.eks import versions
from playrunner.sandbox.aws.eks.access import ADMIN_POLICY, admit
from playrunner.sandbox.aws.eks.cluster_description import (
    BAD,
    checked_network,
    log_settings,
    new_cluster,
)
from playrunner.sandbox.aws.eks.find import find, find_active
from playrunner.sandbox.aws.eks.updates import begin_update
from playrunner.sandbox.aws.other.iam import USER

# What a client decodes as a certificate's text; it verifies nothing.
PRETEND_CERTIFICATE = base64.b64encode(
    b"-----BEGIN CERTIFICATE-----\npretend\n-----END CERTIFICATE-----\n"
).decode()


def create_cluster(call: Call) -> dict[str, Any]:
    return once(call, call.params.get("clientRequestToken"), lambda: _create(call))


def _create(call: Call) -> dict[str, Any]:
    params, name = call.params, call.params["name"]
    if not re.fullmatch(r"[0-9A-Za-z][A-Za-z0-9_-]{0,99}", name):
        raise AwsError(BAD, f"The name '{name}' does not match ^[0-9A-Za-z][A-Za-z0-9-_]*")
    if name in call.region.clusters:
        raise AwsError(
            "ResourceInUseException",
            f"Cluster already exists with name: {name}",
            409,
            clusterName=name,
        )
    version = versions.check(params.get("version") or versions.DEFAULT)
    network.find_role(params["roleArn"], "eks.amazonaws.com", BAD, "roleArn")
    vpc_id = checked_network(call, params["resourcesVpcConfig"])
    cluster = new_cluster(call, name, version, vpc_id)
    call.region.clusters[name] = cluster
    failure = call.state.faults.fails_later("eks", "CreateCluster", name)
    if failure is None:
        call.state.later("eks.cluster.create", lambda: _become_active(call, cluster))
    else:
        issue = {
            "code": failure.code or "InternalFailure",
            "message": failure.message or "The cluster could not be created",
            "resourceIds": [],
        }
        call.state.later(
            "eks.cluster.create",
            lambda: cluster.update(status="FAILED", health={"issues": [issue]}),
        )
    return {"cluster": cluster}


def _become_active(call: Call, cluster: dict[str, Any]) -> None:
    name, net = cluster["name"], cluster["resourcesVpcConfig"]
    group = _cluster_group(call, name, net["vpcId"])
    net["clusterSecurityGroupId"] = group
    for subnet_id in net["subnetIds"][:2]:
        network.hold_interface(
            call, subnet_id, [group, *net["securityGroupIds"]], f"eks/{name}", f"Amazon EKS {name}"
        )
    hexes = uuid.uuid4().hex.upper()
    settings = call.state.settings
    cluster.update(
        status="ACTIVE",
        endpoint=settings.eks_endpoint
        or f"https://{hexes}.gr7.{call.region_name}.eks.amazonaws.com",
        certificateAuthority={"data": settings.eks_certificate_authority or PRETEND_CERTIFICATE},
        identity={
            "oidc": {"issuer": f"https://oidc.eks.{call.region_name}.amazonaws.com/id/{hexes}"}
        },
    )
    if (
        cluster["accessConfig"]["bootstrapClusterCreatorAdminPermissions"]
        and "API" in cluster["accessConfig"]["authenticationMode"]
    ):
        _admit_creator(call, cluster)
    _make_log_group(call, cluster)


def _cluster_group(call: Call, name: str, vpc_id: str) -> str:
    ec2 = network.backend(call.region_name)
    tags = {
        "Name": f"eks-cluster-sg-{name}",
        f"kubernetes.io/cluster/{name}": "owned",
        "aws:eks:cluster-name": name,
    }
    description = (
        "EKS created security group applied to ENI that is attached to EKS Control Plane master"
        " nodes"
    )
    group = ec2.create_security_group(
        f"eks-cluster-sg-{name}-{uuid.uuid4().int % 10**9}", description, vpc_id=vpc_id, tags=tags
    )
    ec2.authorize_security_group_ingress(
        group.id, "-1", None, None, [], source_groups=[{"GroupId": group.id}], vpc_id=vpc_id
    )
    return str(group.id)


def _admit_creator(call: Call, cluster: dict[str, Any]) -> None:
    admit(call, cluster["name"], USER, "STANDARD")
    call.region.access_policies[cluster["name"], USER][ADMIN_POLICY] = {
        "type": "cluster",
        "namespaces": [],
    }


def _make_log_group(call: Call, cluster: dict[str, Any]) -> None:
    """EKS makes the log group, and leaves it behind when the cluster goes."""
    if any(one["enabled"] for one in cluster["logging"]["clusterLogging"]):
        logs, name = logs_backends[ACCOUNT][call.region_name], f"/aws/eks/{cluster['name']}/cluster"
        if name not in logs.groups:
            logs.create_log_group(name, {})


def describe_cluster(call: Call) -> dict[str, Any]:
    cluster, settings = find(call), call.state.settings
    if (
        settings.eks_endpoint and "endpoint" in cluster
    ):  # the API server may have come up after the cluster
        authority = settings.eks_certificate_authority or PRETEND_CERTIFICATE
        return {
            "cluster": {
                **cluster,
                "endpoint": settings.eks_endpoint,
                "certificateAuthority": {"data": authority},
            }
        }
    return {"cluster": cluster}


def list_clusters(call: Call) -> dict[str, Any]:
    return page(sorted(call.region.clusters), call.params, "clusters")


def delete_cluster(call: Call) -> dict[str, Any]:
    cluster, name = find(call), call.params["name"]
    if any(owner == name for owner, _ in call.region.nodegroups):
        raise AwsError(
            "ResourceInUseException", "Cluster has nodegroups attached", 409, clusterName=name
        )
    if cluster["status"] in ("CREATING", "UPDATING", "DELETING"):
        raise AwsError(
            "ResourceInUseException",
            f"Cluster {name} is in {cluster['status']} status",
            409,
            clusterName=name,
        )
    if cluster["deletionProtection"]:
        raise AwsError(
            "InvalidRequestException",
            f"Cluster {name} has deletion protection enabled",
            clusterName=name,
        )
    cluster["status"] = "DELETING"
    call.state.later("eks.cluster.delete", lambda: _gone(call, cluster))
    return {"cluster": cluster}


def _gone(call: Call, cluster: dict[str, Any]) -> None:
    name, region = cluster["name"], call.region
    for interface_id in [
        held_id for held_id, holder in region.held.items() if holder == f"eks/{name}"
    ]:
        network.release_interface(call, interface_id)
    ec2, group = (
        network.backend(call.region_name),
        cluster["resourcesVpcConfig"].get("clusterSecurityGroupId"),
    )
    in_use = any(group in {member.id for member in eni.group_set} for eni in ec2.enis.values())
    if group and not in_use:  # one that is in use stays behind, as in the real world
        ec2.groups[cluster["resourcesVpcConfig"]["vpcId"]].pop(group, None)
    _forget_parts(region, name)
    region.clusters.pop(name, None)
    forget(call, cluster)


def _forget_parts(region: Region, name: str) -> None:
    registers: tuple[dict[tuple[str, str], Any], ...] = (
        region.addons,
        region.access_entries,
        region.access_policies,
    )
    for register in registers:
        for key in [key for key in register if key[0] == name]:
            del register[key]
    for number in [
        number for number, one in region.pod_identities.items() if one["clusterName"] == name
    ]:
        del region.pod_identities[number]


def update_cluster_config(call: Call) -> dict[str, Any]:
    cluster, params = find_active(call), call.params
    if cluster["status"] != "ACTIVE":
        raise AwsError(
            "ResourceInUseException",
            f"Cannot update cluster {cluster['name']}: an update is in progress",
            409,
        )
    changes: dict[str, Any] = {}
    if params.get("logging"):
        changes["logging"] = log_settings(params["logging"])
    if params.get("accessConfig"):
        changes["accessConfig"] = {**cluster["accessConfig"], **params["accessConfig"]}
    if params.get("resourcesVpcConfig"):
        changes["resourcesVpcConfig"] = {
            **cluster["resourcesVpcConfig"],
            **params["resourcesVpcConfig"],
        }
    if not any({**cluster, **changes}[key] != cluster[key] for key in changes):
        raise AwsError(BAD, "No changes needed for the cluster config provided")
    kind = {"logging": "LoggingUpdate", "accessConfig": "AccessConfigUpdate"}.get(
        next(iter(changes)), "EndpointAccessUpdate"
    )
    return {
        "update": begin_update(
            call,
            cluster,
            kind,
            changes,
            "eks.cluster.update",
            lambda: _make_log_group(call, cluster),
        )
    }


def update_cluster_version(call: Call) -> dict[str, Any]:
    cluster, version = find_active(call), versions.check(call.params["version"])
    now, then = (int(one.split(".")[1]) for one in (cluster["version"], version))
    if then != now + 1:
        raise AwsError(
            BAD,
            f"Unsupported Kubernetes minor version update from {cluster['version']} to {version}",
        )
    return {
        "update": begin_update(
            call, cluster, "VersionUpdate", {"version": version}, "eks.cluster.update"
        )
    }


ANSWERS = {
    "CreateCluster": create_cluster,
    "DescribeCluster": describe_cluster,
    "DescribeClusterVersions": versions.describe_cluster_versions,
    "ListClusters": list_clusters,
    "DeleteCluster": delete_cluster,
    "UpdateClusterConfig": update_cluster_config,
    "UpdateClusterVersion": update_cluster_version,
}
