"""aws.vpc: a network of our own."""

from __future__ import annotations

from typing import Any

from playrunner.aws.tags import mine
from playrunner.hostside.state import Change, State
from playrunner.modules.aws._ec2 import Ec2Module, one, refuse_to_change


class Vpc(Ec2Module):
    """A network of our own, known by its name among those with our mark."""

    id_field, kind = "VpcId", "vpc"

    cidr: str = "192.168.0.0/16"  # its addresses
    dns_hostnames: bool = True  # private cluster endpoints and the names of EFS need it

    def observe(self, ctx: Any) -> State | None:
        found = one(ctx.aws.read("ec2", "describe_vpcs", **mine(ctx.owner))["Vpcs"], self.name)
        if found is None:
            return None
        told = ctx.aws.read(
            "ec2",
            "describe_vpc_attribute",
            missing=("InvalidVpcID.NotFound",),
            VpcId=found["VpcId"],
            Attribute="enableDnsHostnames",
        )
        return (
            {**found, "EnableDnsHostnames": told["EnableDnsHostnames"]["Value"]} if told else None
        )

    def desired(self, ctx: Any, found: State | None) -> State:
        return self.declared(CidrBlock=self.cidr, EnableDnsHostnames=self.dns_hostnames)

    def apply(self, ctx: Any, change: Change) -> None:
        seen = change.observed or {}
        if change.after is None:
            ctx.aws.call("ec2", "delete_vpc", VpcId=seen["VpcId"])
            return
        refuse_to_change(change, "CidrBlock")
        if change.creates:
            seen = ctx.aws.call(
                "ec2",
                "create_vpc",
                CidrBlock=change.after["CidrBlock"],
                TagSpecifications=self.marked(ctx),
            )["Vpc"]
        if change.after["EnableDnsHostnames"] != seen.get("EnableDnsHostnames", False):
            ctx.aws.call(
                "ec2",
                "modify_vpc_attribute",
                VpcId=seen["VpcId"],
                EnableDnsHostnames={"Value": change.after["EnableDnsHostnames"]},
            )
        self.mend_tags(ctx, change)

    def moving(self, state: State) -> str | None:
        return "pending" if state.get("State") == "pending" else None
