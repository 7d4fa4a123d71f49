"""What a plan asks of AWS, as the roles' variables say it: a cluster, machines, a network, file
systems."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from playrunner.frozen import frozen


@frozen
class Cluster:
    """A Kubernetes control plane that is to be there."""

    name: str
    version: str = ""  # empty: the service's own choice
    open_to: tuple[str, ...] = ()  # from where its API can be reached from outside its network


@frozen
class Machines:
    """Machines of one kind: a node group's, or one that stands alone."""

    name: str
    role: str
    types: tuple[str, ...]  # the first is preferred, any will do
    count: int
    spot: bool = False
    disk_gib: int = 0  # of each
    zones: tuple[str, ...] = ()  # names or ids; empty: any of the region
    cluster: str = ""  # the cluster of a node group; empty: found by its Name and our tag
    public_addresses: int = 0  # of each
    reserved: bool = False  # from a capacity reservation, which is paid for and counted by itself

    @property
    def type(self) -> str:
        return self.types[0]


@frozen
class Network:
    """A network to make (no id), or one that is there."""

    vpc_id: str = ""
    subnet_ids: tuple[str, ...] = ()
    nat_gateways: int = 0
    endpoint_interfaces: int = 0  # of interface endpoints: one for each endpoint and subnet

    @property
    def is_made(self) -> bool:
        return not self.vpc_id


@frozen
class Lustre:
    name: str
    deployment: str
    throughput_per_tib: int
    capacity_gib: int


@frozen
class Stored:
    """Something that costs what is put into it."""

    name: str
    role: str
    what: str
    gib_month: float


@frozen
class PlannedResources:
    """All of a plan."""

    cluster: Cluster | None = None
    machines: tuple[Machines, ...] = ()
    network: Network | None = None
    lustre: tuple[Lustre, ...] = ()
    stored: tuple[Stored, ...] = ()

    @property
    def types(self) -> list[str]:
        return sorted({kind for group in self.machines for kind in group.types})


def cluster_of(given: Mapping[str, Any]) -> Cluster | None:
    if not given.get("name"):
        return None
    return Cluster(
        str(given["name"]), str(given.get("version") or ""), _texts(given.get("open_to"))
    )


def network_of(given: Mapping[str, Any]) -> Network | None:
    if not given:
        return None
    return Network(
        str(given.get("vpc_id") or ""),
        _texts(given.get("subnet_ids")),
        int(given.get("nat_gateways") or 0),
        int(given.get("endpoint_interfaces") or 0),
    )


def node_group_of(given: Mapping[str, Any], cluster: Cluster | None) -> Machines:
    """A node group in the words of its role."""
    of = str(given.get("cluster") or (cluster.name if cluster else ""))
    # Subnets that are given by id lie in zones that only AWS knows.
    return machines_of(
        {**given, "zones": () if given.get("subnets") else given.get("zones")}, "eks", of
    )


def machines_of(given: Mapping[str, Any], role: str, cluster: str = "") -> Machines:
    count = next(
        (given[name] for name in ("desired_size", "min_size") if given.get(name) is not None), 1
    )
    types = _texts(given.get("instance_types") or given.get("type"))
    if not types:
        raise ValueError(f"{given.get('name', 'a node group')} has no instance_types")
    market = str(given.get("capacity_type") or "").upper()
    reserved = bool(given.get("capacity_reservation_id")) or market == "CAPACITY_BLOCK"
    return Machines(
        str(given.get("name") or role),
        role,
        types,
        int(count),
        market == "SPOT",
        int(given.get("disk_gib") or 0),
        _texts(given.get("zones")),
        cluster,
        int(given.get("public_addresses") or 0),
        reserved,
    )


def lustre_of(given: Mapping[str, Any]) -> Lustre:
    return Lustre(
        str(given.get("name") or "fsx"),
        str(given["deployment"]),
        int(given.get("throughput_per_tib") or 0),
        int(given["capacity_gib"]),
    )


def _texts(value: str | Iterable[Any] | None) -> tuple[str, ...]:
    return (value,) if isinstance(value, str) and value else tuple(str(one) for one in value or ())
