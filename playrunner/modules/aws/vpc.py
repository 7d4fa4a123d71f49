"""aws.vpc: a network of our own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from playrunner.aws.tags import DUPLICATES, mine
from playrunner.hostside.state import Change, State
from playrunner.modules.aws._ec2 import Ec2Module, one, refuse_to_change, with_plain_tags

if TYPE_CHECKING:
    from playrunner.run.context import Context


class Vpc(Ec2Module):
    """A network of our own, found by its name among those tagged as ours."""

    id_field, kind = "VpcId", "vpc"
    can_double = True

    cidr: str = "192.168.0.0/16"  # its addresses
    dns_hostnames: bool = True  # private cluster endpoints and the names of EFS need it

    def observe(self, ctx: Context) -> State | None:
        vpc = one(ctx.aws.read("ec2", "describe_vpcs", **mine(ctx.owner))["Vpcs"], self.name)
        if vpc is None:
            return None
        vpc = self._in_use(ctx, vpc)
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

    def _in_use(self, ctx: Context, vpc: State) -> State:
        """Of several of the same name, the one that has subnets."""
        others = vpc.get(DUPLICATES) or ()
        if not others:
            return vpc
        subnets = ctx.aws.read("ec2", "describe_subnets", **mine(ctx.owner))["Subnets"]
        used = {subnet["VpcId"] for subnet in subnets}
        if vpc["VpcId"] in used or not used & set(others):
            return vpc
        number = sorted(used & set(others))[0]
        every = ctx.aws.read("ec2", "describe_vpcs", **mine(ctx.owner))["Vpcs"]
        rest = sorted({vpc["VpcId"], *others} - {number})
        chosen = with_plain_tags(next(one for one in every if one["VpcId"] == number))
        return {**(chosen or {}), DUPLICATES: rest}

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
