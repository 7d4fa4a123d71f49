"""Every kind of thing that the sweep knows."""

from __future__ import annotations

from playrunner.leftovers.aws import (
    buckets,
    compute,
    identity,
    images,
    interfaces,
    kubernetes,
    load_balancers,
    logs,
    network,
    storage,
)
from playrunner.leftovers.aws.kind import Kind

_SERVICES = (
    kubernetes,
    load_balancers,
    compute,
    storage,
    interfaces,
    network,
    identity,
    images,
    logs,
    buckets,
)

KINDS: tuple[Kind, ...] = tuple(kind() for service in _SERVICES for kind in service.KINDS)
BY_NAME: dict[str, Kind] = {kind.name: kind for kind in KINDS}
