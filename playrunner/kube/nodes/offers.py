"""Whether nodes offer a resource already, before we bring what offers it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from playrunner.kube.client.client import Kube
from playrunner.kube.nodes.edit import NODES
from playrunner.kube.watch.readiness import allocatable
from playrunner.kube.watch.watch import Collection, watch_until

FADING_SECONDS = 15.0  # a node goes on offering devices for a moment after their plugin is gone


def still_offered(kube: Kube, resource: str, wait: bool, progress: Callable[[str], None]) -> str:
    """Which nodes offer a resource, and go on doing so; empty when none does."""

    def judge(seen: dict[Collection, Any]) -> str:
        names = sorted(
            str(node["metadata"]["name"])
            for objects in seen.values()
            for node in objects.values()
            if allocatable(node, resource)
        )
        more = f" and {len(names) - 3} more" if len(names) > 3 else ""
        return (
            f"{', '.join(names[:3])}{more} offer{'s' if len(names) == 1 else ''} {resource} already"
            if names
            else ""
        )

    return watch_until(kube, [Collection(NODES)], judge, FADING_SECONDS if wait else 0.0, progress)
