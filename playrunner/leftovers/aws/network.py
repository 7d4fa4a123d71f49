"""A VPC and what routes its traffic: subnets, gateways, route tables, lists, addresses, endpoints,
peerings."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from playrunner.aws.client import Aws
from playrunner.cloud import prices
from playrunner.cloud.resource import Refused
from playrunner.leftovers.aws import interfaces
from playrunner.leftovers.aws.kind import Kind, attempt, thing_of
from playrunner.leftovers.aws.listed import listed
from playrunner.leftovers.leftover import ServiceResource

# Whatever has an interface in a subnet. They are asked to go first; the interfaces follow when
# their services let go.
INSIDE = (
    "load balancer",
    "classic load balancer",
    "nodegroup",
    "EKS cluster",
    "instance",
    "EFS mount target",
    "FSx file system",
    "NAT gateway",
    "VPC endpoint",
    "network interface",
)


class NatGateway(Kind):
    """A way out for private subnets, billed by the hour."""

    name, service, arn = "NAT gateway", "ec2", "ec2:natgateway"
    gone_seconds = 600
    after: ClassVar[tuple[str, ...]] = (
        "nodegroup",
    )  # nodes that drain still talk to the cluster through it

    def all(self, aws: Aws) -> Iterable[ServiceResource]:
        for raw in listed(aws, "ec2", "describe_nat_gateways", "NatGateways"):
            if raw["State"] != "deleted":
                yield thing_of(
                    raw,
                    raw["NatGatewayId"],
                    monthly_dollars=prices.NAT_GATEWAY_HOUR * prices.HOURS,
                    deleting=raw["State"] == "deleting",
                    state=str(raw.get("FailureMessage") or ""),
                )

    def delete(self, aws: Aws, thing: ServiceResource) -> None:
        aws.call("ec2", "delete_nat_gateway", NatGatewayId=thing.id)


class ElasticIp(Kind):
    """A public address, billed also while it is not used."""

    name, service, arn = "elastic IP", "ec2", "ec2:elastic-ip"
    after: ClassVar[tuple[str, ...]] = ("NAT gateway", "instance", "load balancer")

    def all(self, aws: Aws) -> Iterable[ServiceResource]:
        for raw in listed(aws, "ec2", "describe_addresses", "Addresses"):
            if raw.get("AllocationId"):
                yield thing_of(
                    raw, raw["AllocationId"], monthly_dollars=prices.PUBLIC_IPV4_HOUR * prices.HOURS
                )

    def busy(self, thing: ServiceResource) -> str:
        holder = thing.raw.get("InstanceId") or thing.raw.get("NetworkInterfaceId")
        return f"the address of {holder}" if thing.raw.get("AssociationId") else ""

    def delete(self, aws: Aws, thing: ServiceResource) -> None:
        aws.call("ec2", "release_address", AllocationId=thing.id)


class VpcEndpoint(Kind):
    """A private way to a service of AWS."""

    name, service, arn = "VPC endpoint", "ec2", "ec2:vpc-endpoint"
    gone_seconds = 600

    def all(self, aws: Aws) -> Iterable[ServiceResource]:
        for raw in listed(aws, "ec2", "describe_vpc_endpoints", "VpcEndpoints"):
            state = str(raw.get("State", "")).lower()
            if state != "deleted":
                yield thing_of(
                    raw,
                    raw["VpcEndpointId"],
                    monthly_dollars=prices.endpoint(raw),
                    deleting=state == "deleting",
                )

    def delete(self, aws: Aws, thing: ServiceResource) -> None:
        answer = aws.call("ec2", "delete_vpc_endpoints", VpcEndpointIds=[thing.id])
        for refused in answer.get("Unsuccessful") or ():
            said = refused["Error"]
            raise Refused(
                f"ec2.delete_vpc_endpoints: {said['Code']}: {said.get('Message', '')}", said["Code"]
            )


class Peering(Kind):
    """A connection between our VPC and another; it ends with either of them."""

    name, service, arn = "VPC peering", "ec2", "ec2:vpc-peering-connection"

    def all(self, aws: Aws) -> Iterable[ServiceResource]:
        for raw in listed(aws, "ec2", "describe_vpc_peering_connections", "VpcPeeringConnections"):
            ends = [
                str((raw.get(end) or {}).get("VpcId") or "")
                for end in ("RequesterVpcInfo", "AccepterVpcInfo")
            ]
            if raw["Status"]["Code"] not in ("deleted", "rejected", "expired", "failed"):
                for vpc in ends:  # the same thing twice, once for each VPC that it may be ours by
                    yield thing_of(
                        raw,
                        raw["VpcPeeringConnectionId"],
                        vpc=vpc,
                        deleting=raw["Status"]["Code"] == "deleting",
                    )

    def delete(self, aws: Aws, thing: ServiceResource) -> None:
        aws.call("ec2", "delete_vpc_peering_connection", VpcPeeringConnectionId=thing.id)


class Subnet(Kind):
    """A part of a VPC in one zone."""

    name, service, arn = "subnet", "ec2", "ec2:subnet"
    after: ClassVar[tuple[str, ...]] = INSIDE

    def all(self, aws: Aws) -> Iterable[ServiceResource]:
        return [
            thing_of(raw, raw["SubnetId"])
            for raw in listed(aws, "ec2", "describe_subnets", "Subnets")
        ]

    def delete(self, aws: Aws, thing: ServiceResource) -> None:
        aws.call("ec2", "delete_subnet", SubnetId=thing.id)

    def holders(self, aws: Aws, thing: ServiceResource) -> str:
        return interfaces.described(
            one for one in interfaces.every(aws) if one.get("SubnetId") == thing.id
        )


class RouteTable(Kind):
    """Where a subnet's traffic goes; the main one goes with its VPC."""

    name, service, arn = "route table", "ec2", "ec2:route-table"
    after: ClassVar[tuple[str, ...]] = ("subnet", "VPC endpoint", "NAT gateway")

    def all(self, aws: Aws) -> Iterable[ServiceResource]:
        for raw in listed(aws, "ec2", "describe_route_tables", "RouteTables"):
            if not any(one.get("Main") for one in raw.get("Associations") or ()):
                yield thing_of(raw, raw["RouteTableId"])

    def delete(self, aws: Aws, thing: ServiceResource) -> None:
        for association in thing.raw.get("Associations") or ():
            attempt(
                aws,
                "ec2",
                "disassociate_route_table",
                AssociationId=association["RouteTableAssociationId"],
            )
        aws.call("ec2", "delete_route_table", RouteTableId=thing.id)


class NetworkAcl(Kind):
    """A list of what may enter a subnet; the default one goes with its VPC."""

    name, service, arn = "network ACL", "ec2", "ec2:network-acl"
    after: ClassVar[tuple[str, ...]] = ("subnet",)

    def all(self, aws: Aws) -> Iterable[ServiceResource]:
        for raw in listed(aws, "ec2", "describe_network_acls", "NetworkAcls"):
            if not raw.get("IsDefault"):
                yield thing_of(raw, raw["NetworkAclId"])

    def delete(self, aws: Aws, thing: ServiceResource) -> None:
        aws.call("ec2", "delete_network_acl", NetworkAclId=thing.id)


class InternetGateway(Kind):
    """The VPC's door to the internet; it holds as long as a public address is behind it."""

    name, service, arn = "internet gateway", "ec2", "ec2:internet-gateway"
    after: ClassVar[tuple[str, ...]] = (*INSIDE, "elastic IP")

    def all(self, aws: Aws) -> Iterable[ServiceResource]:
        for raw in listed(aws, "ec2", "describe_internet_gateways", "InternetGateways"):
            attached = [one["VpcId"] for one in raw.get("Attachments") or ()]
            yield thing_of(raw, raw["InternetGatewayId"], vpc=attached[0] if attached else "")

    def delete(self, aws: Aws, thing: ServiceResource) -> None:
        if thing.vpc:
            attempt(
                aws, "ec2", "detach_internet_gateway", InternetGatewayId=thing.id, VpcId=thing.vpc
            )
        aws.call("ec2", "delete_internet_gateway", InternetGatewayId=thing.id)


class EgressOnlyGateway(Kind):
    """The same for IPv6, one way."""

    name, service, arn = "egress-only gateway", "ec2", "ec2:egress-only-internet-gateway"

    def all(self, aws: Aws) -> Iterable[ServiceResource]:
        for raw in listed(
            aws, "ec2", "describe_egress_only_internet_gateways", "EgressOnlyInternetGateways"
        ):
            attached = [one["VpcId"] for one in raw.get("Attachments") or ()]
            yield thing_of(
                raw, raw["EgressOnlyInternetGatewayId"], vpc=attached[0] if attached else ""
            )

    def delete(self, aws: Aws, thing: ServiceResource) -> None:
        aws.call("ec2", "delete_egress_only_internet_gateway", EgressOnlyInternetGatewayId=thing.id)


class Vpc(Kind):
    """The network itself, with its default group, main route table and default list."""

    name, service, arn = "VPC", "ec2", "ec2:vpc"
    after: ClassVar[tuple[str, ...]] = (
        "subnet",
        "route table",
        "network ACL",
        "internet gateway",
        "egress-only gateway",
        "security group",
        "VPC endpoint",
        "VPC peering",
        "target group",
    )

    def all(self, aws: Aws) -> Iterable[ServiceResource]:
        # Inside itself it would be ours by its own VPC; only its mark counts.
        return [
            thing_of(raw, raw["VpcId"], vpc="")
            for raw in listed(aws, "ec2", "describe_vpcs", "Vpcs")
        ]

    def delete(self, aws: Aws, thing: ServiceResource) -> None:
        aws.call("ec2", "delete_vpc", VpcId=thing.id)

    def holders(self, aws: Aws, thing: ServiceResource) -> str:
        groups = listed(aws, "ec2", "describe_security_groups", "SecurityGroups")
        inside = [
            raw["SubnetId"]
            for raw in listed(aws, "ec2", "describe_subnets", "Subnets")
            if raw["VpcId"] == thing.id
        ]
        inside += [
            raw["GroupId"]
            for raw in groups
            if raw.get("VpcId") == thing.id and raw["GroupName"] != "default"
        ]
        return ", ".join(inside)


KINDS: tuple[type[Kind], ...] = (
    NatGateway,
    ElasticIp,
    VpcEndpoint,
    Peering,
    Subnet,
    RouteTable,
    NetworkAcl,
    InternetGateway,
    EgressOnlyGateway,
    Vpc,
)
