"""aws.vpc: a network of our own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from playrunner.aws.tags import mine
from playrunner.hostside.state import Change, State
from playrunner.modules.aws._ec2 import Ec2Module, one, refuse_to_change

if TYPE_CHECKING:
    from playrunner.run.context import Context


class Vpc(Ec2Module):
    """A network of our own, found by its name among those tagged as ours."""

    id_field, kind = "VpcId", "vpc"

    cidr: str = "192.168.0.0/16"  # its addresses
    dns_hostnames: bool = True  # private cluster endpoints and the names of EFS need it

    def observe(self, ctx: Context) -> State | None:
        vpc = one(ctx.aws.read("ec2", "describe_vpcs", **mine(ctx.owner))["Vpcs"], self.name)
        if vpc is None:
            return None
        attribute = ctx.aws.read(
            "ec2",
            "describe_vpc_attribute",
            missing=("InvalidVpcID.NotFound",),
            VpcId=vpc["VpcId"],
            Attribute="enableDnsHostnames",
        )
        return (
            {**vpc, "EnableDnsHostnames": attribute["EnableDnsHostnames"]["Value"]}
            if attribute
            else None
        )

    def desired(self, ctx: Context, current: State | None) -> State:
        return self.declared(CidrBlock=self.cidr, EnableDnsHostnames=self.dns_hostnames)

    def apply(self, ctx: Context, change: Change) -> None:
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
        self.update_tags(ctx, change)

    def moving(self, state: State) -> str | None:
        return "pending" if state.get("State") == "pending" else None
