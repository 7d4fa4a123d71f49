"""The network's limits: room for one more VPC and its addresses, or free addresses in the one that
is there."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from playrunner.cloud.preflight_findings import Finding, problem
from playrunner.modules.aws._preflight.planned import Network, PlannedResources
from playrunner.modules.aws._preflight.quotas import quota, where_to_ask
from playrunner.modules.aws._preflight.seen import ObservedAccount

if TYPE_CHECKING:
    from playrunner.run.context import Context

_VPCS, _ADDRESSES = ("vpc", "L-F678F1CE"), ("ec2", "L-0263D0A3")
_CONTROL_PLANE = 6  # addresses that EKS takes for itself, and as many again while it upgrades


def checks(
    ctx: Context, planned: PlannedResources, seen: ObservedAccount
) -> dict[str, Callable[[], Iterable[Finding]]]:
    network = planned.network
    if network is None:
        return {}
    if not network.is_made:
        return {"the free addresses": lambda: _free_addresses(ctx, planned, seen, network)}
    checks_by_name: dict[str, Callable[[], Iterable[Finding]]] = {}
    if seen.our_networks == 0:
        checks_by_name["the quota of VPCs"] = lambda: _room(
            ctx,
            1,
            len(ctx.aws.read("ec2", "describe_vpcs")["Vpcs"]),
            _VPCS,
            "VPC",
            "remove one, or use one that is there (network_existing_vpc_id)",
        )
    addresses = network.nat_gateways - (seen.our_addresses or 0)
    if addresses > 0 and seen.our_addresses is not None:
        checks_by_name["the quota of addresses"] = lambda: _room(
            ctx,
            addresses,
            len(ctx.aws.read("ec2", "describe_addresses")["Addresses"]),
            _ADDRESSES,
            "elastic IP",
            "release some, or choose fewer NAT gateways",
        )
    return checks_by_name


def _room(
    ctx: Context, wanted: int, used: int, which: tuple[str, str], word: str, remedy: str
) -> Iterable[Finding]:
    limit = quota(ctx, *which)
    if wanted + used > limit:
        yield problem(
            f"{wanted} more {word}{'s' * (wanted > 1)} {'is' if wanted == 1 else 'are'} wanted, the"
            f" quota {which[1]} is {limit:g} and {used} are in use: ask for more at"
            f" {where_to_ask(ctx, *which)}, or {remedy}"
        )


def _free_addresses(
    ctx: Context, planned: PlannedResources, seen: ObservedAccount, network: Network
) -> Iterable[Finding]:
    """Each node takes the addresses of a whole interface for its pods when it starts."""
    only = [{"Name": "vpc-id", "Values": [network.vpc_id]}]
    every = ctx.aws.read("ec2", "describe_subnets", Filters=only)["Subnets"]
    chosen = [
        subnet
        for subnet in every
        if not network.subnet_ids or subnet["SubnetId"] in network.subnet_ids
    ]
    if not chosen:
        yield problem(
            f"{network.vpc_id} has none of the subnets that are wanted in {ctx.aws.region}: see"
            " network_existing_vpc_id and network_existing_subnet_ids"
        )
        return
    needed = _CONTROL_PLANE if planned.cluster else 0
    for group in planned.machines:
        interfaces = (seen.types or {}).get(group.type, {}).get("NetworkInfo", {})
        needed += seen.missing(group) * int(
            interfaces.get("Ipv4AddressesPerInterface", 1) if group.cluster else 1
        )
    free = sum(int(subnet["AvailableIpAddressCount"]) for subnet in chosen)
    if free < needed:
        fullest = min(chosen, key=lambda subnet: int(subnet["AvailableIpAddressCount"]))
        yield problem(
            f"{needed} addresses are needed for the nodes and their pods, and the {len(chosen)}"
            f" subnets of {network.vpc_id} have {free} free ({fullest['SubnetId']}"
            f" {fullest['AvailableIpAddressCount']}): choose larger or more subnets, or fewer nodes"
        )
