"""aws.subnet: the part of a network that lies in one zone."""

from __future__ import annotations

from ipaddress import ip_network
from typing import TYPE_CHECKING, Any

from playrunner.aws.tags import mine
from playrunner.hostside.state import Change, State
from playrunner.modules.aws._ec2 import Ec2Module, one, refuse_to_change

if TYPE_CHECKING:
    from playrunner.run.context import Context


class Subnet(Ec2Module):
    """The part of a network that lies in one zone, found by its name among those tagged as ours."""

    id_field, kind = "SubnetId", "subnet"
    can_double = True  # not quite: a second one is refused as a conflict of addresses

    vpc_id: str  # the network
    zone: str  # as us-west-2a
    cidr: str  # its addresses; with `prefix`, the range it is a part of
    prefix: int | None = None  # how large a part, as 19
    block: int = 0  # which of the parts, from 0
    public: bool = False  # instances get a public address when they start

    @classmethod
    def check(cls, arguments: dict[str, Any]) -> str | None:
        try:
            part(
                arguments.get("cidr") or "0.0.0.0/0",
                arguments.get("prefix"),
                arguments.get("block") or 0,
            )
        except ValueError as error:
            return str(error)
        return None

    def observe(self, ctx: Context) -> State | None:
        return one(ctx.aws.read("ec2", "describe_subnets", **mine(ctx.owner))["Subnets"], self.name)

    def desired(self, ctx: Context, current: State | None) -> State:
        return self.declared(
            VpcId=self.vpc_id,
            AvailabilityZone=self.zone,
            CidrBlock=part(self.cidr, self.prefix, self.block),
            MapPublicIpOnLaunch=self.public,
        )

    def apply(self, ctx: Context, change: Change) -> None:
        seen = change.observed or {}
        if change.after is None:
            ctx.aws.call("ec2", "delete_subnet", SubnetId=seen["SubnetId"])
            return
        refuse_to_change(change, "VpcId", "AvailabilityZone", "CidrBlock")
        if change.creates:
            fixed = {
                name: change.after[name] for name in ("VpcId", "AvailabilityZone", "CidrBlock")
            }
            seen = ctx.aws.call(
                "ec2", "create_subnet", **fixed, TagSpecifications=self.marked(ctx)
            )["Subnet"]
        if change.after["MapPublicIpOnLaunch"] != seen["MapPublicIpOnLaunch"]:
            ctx.aws.call(
                "ec2",
                "modify_subnet_attribute",
                SubnetId=seen["SubnetId"],
                MapPublicIpOnLaunch={"Value": change.after["MapPublicIpOnLaunch"]},
            )
        self.update_tags(ctx, change)

    def moving(self, state: State) -> str | None:
        return "pending" if state.get("State") == "pending" else None


def part(cidr: str, prefix: int | None, block: int) -> str:
    """The n-th part of that size of a range; the range itself when no size is given."""
    whole = ip_network(cidr)
    if prefix is None:
        return str(whole)
    if not whole.prefixlen <= prefix <= whole.max_prefixlen:
        raise ValueError(f"{cidr} has no parts of the size /{prefix}")
    count = 2 ** (prefix - whole.prefixlen)
    if not 0 <= block < count:
        raise ValueError(
            f"{cidr} has {count} parts of the size /{prefix}; there is no part {block} (the first"
            " is 0)"
        )
    first = int(whole.network_address) + block * 2 ** (whole.max_prefixlen - prefix)
    return f"{type(whole.network_address)(first)}/{prefix}"
