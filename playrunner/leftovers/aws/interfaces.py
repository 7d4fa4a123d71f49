"""Network interfaces and security groups: what services leave in a VPC, and what holds it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar

from playrunner.aws.client import Aws
from playrunner.leftovers.aws.kind import Kind, attempt, thing_of
from playrunner.leftovers.aws.listed import listed
from playrunner.leftovers.leftover import ServiceResource

# Each of these lets its interfaces go by itself, some of them minutes after it is gone.
OWNERS = (
    "load balancer",
    "classic load balancer",
    "nodegroup",
    "EKS cluster",
    "instance",
    "EFS mount target",
    "FSx file system",
    "NAT gateway",
    "VPC endpoint",
)


class NetworkInterface(Kind):
    """An interface: one that a service or machine holds is waited for, one that is not in use is
    removed."""

    name, service, arn = "network interface", "ec2", "ec2:network-interface"
    after: ClassVar[tuple[str, ...]] = OWNERS
    gone_seconds = 1200  # a network load balancer's stay for up to a quarter of an hour

    def all(self, aws: Aws) -> Iterable[ServiceResource]:
        for raw in every(aws):
            tags = {
                **{tag["Key"]: tag["Value"] for tag in raw.get("TagSet") or raw.get("Tags") or ()}
            }
            yield thing_of(
                raw,
                raw["NetworkInterfaceId"],
                tags=tags,
                name=raw.get("Description") or tags.get("Name", ""),
                monthly_dollars=0.0,
            )

    def busy(self, thing: ServiceResource) -> str:
        return "" if thing.raw.get("Status") == "available" else f"held by {holder(thing.raw)}"

    def delete(self, aws: Aws, thing: ServiceResource) -> None:
        aws.call("ec2", "delete_network_interface", NetworkInterfaceId=thing.id)


class SecurityGroup(Kind):
    """A security group, also those that EKS and load balancers made; the default one goes with its
    VPC."""

    name, service, arn = "security group", "ec2", "ec2:security-group"
    after: ClassVar[tuple[str, ...]] = (*OWNERS, "network interface", "launch template")

    def all(self, aws: Aws) -> Iterable[ServiceResource]:
        for raw in listed(aws, "ec2", "describe_security_groups", "SecurityGroups"):
            if raw["GroupName"] != "default":
                yield thing_of(raw, raw["GroupId"], name=raw["GroupName"])

    def delete(self, aws: Aws, thing: ServiceResource) -> None:
        # Groups that name each other hold each other; each drops what it says of others before it
        # goes.
        for key, operation in (
            ("IpPermissions", "revoke_security_group_ingress"),
            ("IpPermissionsEgress", "revoke_security_group_egress"),
        ):
            rules = [rule for rule in thing.raw.get(key) or () if _names_another(rule, thing.id)]
            if rules:
                attempt(
                    aws,
                    "ec2",
                    operation,
                    GroupId=thing.id,
                    IpPermissions=[_only_groups(rule) for rule in rules],
                )
        aws.call("ec2", "delete_security_group", GroupId=thing.id)

    def holders(self, aws: Aws, thing: ServiceResource) -> str:
        used = [
            one
            for one in every(aws)
            if thing.id in {group["GroupId"] for group in one.get("Groups") or ()}
        ]
        naming = [
            raw["GroupId"]
            for raw in listed(aws, "ec2", "describe_security_groups", "SecurityGroups")
            if raw["GroupId"] != thing.id
            and any(
                pair.get("GroupId") == thing.id
                for key in ("IpPermissions", "IpPermissionsEgress")
                for rule in raw.get(key) or ()
                for pair in rule.get("UserIdGroupPairs") or ()
            )
        ]
        return ", ".join(
            filter(None, [described(used), f"rules of {', '.join(naming)}" if naming else ""])
        )


def every(aws: Aws) -> list[dict[str, Any]]:
    return listed(aws, "ec2", "describe_network_interfaces", "NetworkInterfaces")


def described(found: Iterable[Mapping[str, Any]]) -> str:
    return ", ".join(f"{one['NetworkInterfaceId']} of {holder(one)}" for one in found)


def holder(raw: Mapping[str, Any]) -> str:
    """Whose an interface is, in the words that the service left on it."""
    attached = (raw.get("Attachment") or {}).get("InstanceId")
    return str(
        attached or raw.get("Description") or raw.get("RequesterId") or "an unknown resource"
    )


def _names_another(rule: Mapping[str, Any], own: str) -> bool:
    return any(pair.get("GroupId") != own for pair in rule.get("UserIdGroupPairs") or ())


def _only_groups(rule: Mapping[str, Any]) -> dict[str, Any]:
    """The part of a rule that names groups, in the form that takes it back."""
    kept = {key: rule[key] for key in ("IpProtocol", "FromPort", "ToPort") if key in rule}
    pairs = [
        {key: pair[key] for key in ("GroupId", "UserId") if pair.get(key)}
        for pair in rule["UserIdGroupPairs"]
    ]
    return {**kept, "UserIdGroupPairs": pairs}


KINDS: tuple[type[Kind], ...] = (NetworkInterface, SecurityGroup)
