"""The plan and its price: every thing that costs by the hour, and those that cost what is put into
them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field

from playrunner.cloud import prices
from playrunner.cloud.costs import PlanItem
from playrunner.frozen import frozen
from playrunner.modules.aws._preflight.planned import Lustre, Machines, Network, PlannedResources


@frozen
class Knowledge:
    """What is known beside the table: prices given by the user, spot prices of today, and a
    version's support."""

    given: Mapping[str, float] = field(default_factory=dict)  # on-demand, by instance type
    spot: Mapping[str, float] = field(default_factory=dict)
    extended_support: bool = False


def priced(planned: PlannedResources, known: Knowledge) -> list[PlanItem]:
    return [
        thing
        for part in (
            _cluster(planned, known),
            _machines(planned, known),
            _network(planned.network),
            _lustre(planned.lustre),
            _stored(planned),
        )
        for thing in part
    ]


def _cluster(planned: PlannedResources, known: Knowledge) -> Iterator[PlanItem]:
    if planned.cluster:
        price = (
            prices.EKS_CONTROL_PLANE_HOUR
            + prices.EKS_EXTENDED_SUPPORT_HOUR * known.extended_support
        )
        note = "its version is in extended support" if known.extended_support else ""
        yield PlanItem(f"control plane {planned.cluster.name}", "eks", price, note=note)


def _machines(planned: PlannedResources, known: Knowledge) -> Iterator[PlanItem]:
    for group in planned.machines:
        yield _group(group, known)
        if group.disk_gib and group.count:
            month = prices.VOLUME_GIB["gp3"] * group.disk_gib * group.count
            yield PlanItem(
                f"{group.name}: {group.count} x {group.disk_gib} GiB disk",
                group.role,
                month / prices.HOURS,
            )
        addresses = group.public_addresses * group.count
        if addresses:
            yield PlanItem(
                f"{group.name}: {_many(addresses, 'public address', 'es')}",
                group.role,
                addresses * prices.PUBLIC_IPV4_HOUR,
            )


def _group(group: Machines, known: Knowledge) -> PlanItem:
    text = f"{group.name}: {group.count} x {' or '.join(group.types)}" + " spot" * group.spot
    if group.reserved:
        return PlanItem(
            text, group.role, None, note="from a capacity reservation, which is paid for by itself"
        )
    table = {**prices.INSTANCE_HOUR, **known.given}
    prices_of_types = [
        (known.spot.get(kind) if group.spot else None, table.get(kind)) for kind in group.types
    ]
    missing = [
        kind
        for kind, pair in zip(group.types, prices_of_types, strict=True)
        if pair == (None, None)
    ]
    if missing:
        return PlanItem(
            text,
            group.role,
            None,
            note=f"give preflight_prices a price for {missing[0]}",
            unlisted=True,
        )
    dearest = max(
        spot if spot is not None else on_demand or 0.0 for spot, on_demand in prices_of_types
    )
    guessed = group.spot and any(spot is None for spot, _ in prices_of_types)
    note = (
        "spot costs less, by how much is not known"
        if guessed
        else "spot price of now"
        if group.spot
        else ""
    )
    return PlanItem(text, group.role, dearest * group.count, guessed or len(group.types) > 1, note)


def _network(network: Network | None) -> Iterator[PlanItem]:
    if network and network.nat_gateways and network.is_made:
        price = network.nat_gateways * (prices.NAT_GATEWAY_HOUR + prices.PUBLIC_IPV4_HOUR)
        yield PlanItem(
            f"{_many(network.nat_gateways, 'NAT gateway')} with address",
            "network",
            price,
            note=f"and {prices.NAT_GATEWAY_GIB * 100:g} cents for each GiB through it",
        )
    if network and network.endpoint_interfaces and network.is_made:
        yield PlanItem(
            f"{_many(network.endpoint_interfaces, 'endpoint interface')}",
            "network",
            network.endpoint_interfaces * prices.INTERFACE_ENDPOINT_HOUR,
        )


def _lustre(file_systems: Sequence[Lustre]) -> Iterator[PlanItem]:
    for file_system in file_systems:
        price = prices.LUSTRE_GIB.get((file_system.deployment, file_system.throughput_per_tib))
        text = f"{file_system.name}: {file_system.capacity_gib} GiB Lustre {file_system.deployment}"
        if price is None:
            note = f"{file_system.throughput_per_tib} MB/s per TiB is not in the table"
            yield PlanItem(text, "fsx", None, note=note, unlisted=True)
        else:
            yield PlanItem(text, "fsx", price * file_system.capacity_gib / prices.HOURS)


def _stored(planned: PlannedResources) -> Iterator[PlanItem]:
    for store in planned.stored:
        yield PlanItem(
            f"{store.name}: {store.what}",
            store.role,
            None,
            note=f"{store.gib_month * 100:g} cents a month for each GiB in it",
        )


def _many(count: int, word: str, ending: str = "s") -> str:
    return f"{count} {word}{ending if count != 1 else ''}"
