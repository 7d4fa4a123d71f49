"""The checks of an existing cluster; each gives what is wrong, and what to do about it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from playrunner.hostside.state import State
from playrunner.modules.aws import _eks, _iam

if TYPE_CHECKING:
    from playrunner.run.context import Context

LEAST_FREE_IPS = 16  # a control plane takes up to six addresses of a subnet, every pod one


def of_itself(cluster: State, vpc_id: str | None) -> Iterable[str]:
    name, net = cluster["name"], cluster["resourcesVpcConfig"]
    if cluster["status"] != "ACTIVE":
        yield f"{name} is {_eks.said(cluster)}: wait until it is ACTIVE"
    elif (cluster.get("health") or {}).get("issues"):
        yield f"{name} is not well: {_eks.reasons(cluster['health']['issues'])}"
    if vpc_id is not None and net.get("vpcId") != vpc_id:
        where = net.get("vpcId")
        yield (
            f"{name} is in {where}, not in {vpc_id or 'a network of ours'}: set"
            f" network_existing_vpc_id to {where}"
        )


def of_version(ctx: Context, cluster: State) -> Iterable[str]:
    versions = ctx.aws.read("eks", "describe_cluster_versions")["clusterVersions"]
    known = {
        version["clusterVersion"]: str(version.get("versionStatus") or version.get("status") or "")
        for version in versions
    }
    supported = sorted(
        (version for version, status in known.items() if "UNSUPPORTED" not in status.upper()),
        key=_number,
    )
    if cluster["version"] not in supported:
        yield (
            f"Kubernetes {cluster['version']} is out of support: upgrade {cluster['name']} one"
            f" minor version at a time to {supported[0] if supported else 'one that EKS lists'} or"
            " later"
        )


def is_dear(ctx: Context, cluster: State) -> Iterable[str]:
    versions = ctx.aws.read("eks", "describe_cluster_versions")["clusterVersions"]
    status = next(
        (
            str(version.get("versionStatus") or version.get("status"))
            for version in versions
            if version["clusterVersion"] == cluster["version"]
        ),
        "",
    )
    if "EXTENDED" in status.upper():
        yield (
            f"Kubernetes {cluster['version']} is in extended support, which costs six times as much"
            " an hour: upgrade it"
        )


def of_identity(ctx: Context, cluster: State) -> Iterable[str]:
    issuer = ((cluster.get("identity") or {}).get("oidc") or {}).get("issuer")
    if not issuer:
        yield f"{cluster['name']} has no OIDC issuer: service accounts cannot have roles in it"
        return
    arn = _iam.oidc_provider_arn(ctx, issuer)
    if (
        ctx.aws.read(
            "iam",
            "get_open_id_connect_provider",
            missing=_iam.MISSING,
            OpenIDConnectProviderArn=arn,
        )
        is None
    ):
        yield (
            f"IAM has no OIDC provider for {issuer}: set eks_oidc to true, and eks.create makes it"
        )


def of_subnets(ctx: Context, cluster: State, least_free_ips: int) -> Iterable[str]:
    ids = cluster["resourcesVpcConfig"]["subnetIds"]
    described = ctx.aws.read(
        "ec2", "describe_subnets", Filters=[{"Name": "subnet-id", "Values": sorted(ids)}]
    )["Subnets"]
    existing = {subnet["SubnetId"]: subnet for subnet in described}
    yield from (
        f"its subnet {subnet} is gone: give {cluster['name']} others (update its VPC configuration)"
        for subnet in ids
        if subnet not in existing
    )
    zones = {subnet["AvailabilityZone"] for subnet in described}
    if len(zones) < 2:
        yield (
            f"its subnets lie in {len(zones)} zone(s), and an upgrade needs two: add a subnet in"
            " another zone"
        )
    yield from (
        f"subnet {subnet['SubnetId']} has {subnet['AvailableIpAddressCount']} free addresses and"
        f" {least_free_ips} are needed: end what uses them, or add a subnet"
        for subnet in described
        if subnet["AvailableIpAddressCount"] < least_free_ips
    )


def of_endpoint(cluster: State, from_inside: bool) -> Iterable[str]:
    net = cluster["resourcesVpcConfig"]
    if not cluster.get("endpoint"):
        yield f"{cluster['name']} has no endpoint yet"
    if not net.get("endpointPublicAccess") and not from_inside:
        yield (
            "its endpoint can be reached only from inside the VPC: run from a jump host there and"
            " set eks_from_inside to true, or open the public endpoint to your address"
        )
    if not net.get("endpointPrivateAccess") and net.get("publicAccessCidrs", ["0.0.0.0/0"]) != [
        "0.0.0.0/0"
    ]:
        yield (
            "its private endpoint is off and the public one is closed to most: turn the private"
            " endpoint on, or its nodes may not reach it"
        )


def of_security_group(ctx: Context, cluster: State) -> Iterable[str]:
    number = cluster["resourcesVpcConfig"].get("clusterSecurityGroupId")
    if not number:
        yield (
            f"{cluster['name']} has no cluster security group: it is older than EKS's platform"
            " version eks.3; upgrade it"
        )
        return
    answer = ctx.aws.read(
        "ec2", "describe_security_groups", Filters=[{"Name": "group-id", "Values": [number]}]
    )
    if not answer["SecurityGroups"]:
        yield (
            f"its security group {number} is gone: nodes cannot talk to the control plane; the"
            " cluster must be created again"
        )
        return
    rules = answer["SecurityGroups"][0].get("IpPermissions") or ()
    among = any(
        rule["IpProtocol"] == "-1"
        and any(pair.get("GroupId") == number for pair in rule.get("UserIdGroupPairs") or ())
        for rule in rules
    )
    if not among:
        yield (
            f"its security group {number} keeps its own members apart: add a rule for all traffic"
            " from itself"
        )


def of_nodes(groups: list[State], name: str, least_nodes: int) -> Iterable[str]:
    for group in groups:
        if group["status"] not in ("ACTIVE", "UPDATING"):
            yield f"node group {group['nodegroupName']} is {_eks.said(group)}: repair or delete it"
    nodes = sum(
        group["scalingConfig"]["desiredSize"]
        for group in groups
        if group["status"] in ("ACTIVE", "UPDATING")
    )
    if nodes < least_nodes:
        yield (
            f"{name} has {nodes} nodes in {len(groups)} managed node groups and {least_nodes} are"
            " needed: scale one up, or declare one in eks_nodegroups"
        )


def of_access(ctx: Context, cluster: State) -> Iterable[str]:
    if "API" not in str((cluster.get("accessConfig") or {}).get("authenticationMode")):
        return  # whom aws-auth lets in is known inside the cluster only
    who = principal(str(ctx.aws.read("sts", "get_caller_identity")["Arn"]))
    listed = ctx.aws.read("eks", "list_access_entries", clusterName=cluster["name"])[
        "accessEntries"
    ]
    # An assumed role's session does not tell the role's path, so only its name is compared.
    name = who.rpartition("/")[2]
    if not any(
        entry == who or (":role/" in who and entry.rpartition("/")[2] == name) for entry in listed
    ):
        yield (
            f"{who} has no access entry: have an administrator run eks.create with it in"
            " eks_admins, or use the principal that made the cluster"
        )


def principal(arn: str) -> str:
    """The user or role behind a caller: a session of a role is the role."""
    if ":assumed-role/" not in arn:
        return arn
    front, _, rest = arn.partition(":assumed-role/")
    return f"{front.replace(':sts:', ':iam:')}:role/{rest.partition('/')[0]}"


def _number(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split("."))
