"""The pretend project: settings, faults, the calls made, and everything that is there, in the
services' own words."""

from __future__ import annotations

import hashlib
import itertools
import time
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, ClassVar

from playrunner.sandbox.faults import Faults
from playrunner.sandbox.http.calls import CallRecord
from playrunner.sandbox.http.timeline import Timeline
from playrunner.sandbox.settings import Settings

PROJECT = "sandbox-project"
PROJECT_NUMBER = "123456789012"
ZONE = "us-central1-a"

# Seconds from a request to its end. Minutes in the real world; long enough here that a missing wait
# shows.
DELAYS = {
    "container.cluster.create": 1.0,
    "container.cluster.delete": 0.6,
    "container.cluster.update": 0.4,
    "container.pool.create": 0.8,
    "container.pool.delete": 0.6,
    "container.pool.update": 0.4,
    "container.node.start": 0.2,
    "compute.disk": 0.3,
    "compute.network": 0.2,
    "artifactregistry.repository": 0.2,
    "serviceusage.service": 0.2,
}

Key = tuple[str, str, str]  # project, location, name


@dataclass
class GcpSettings(Settings):
    """What a rehearsal may choose."""

    DELAYS: ClassVar[dict[str, float]] = DELAYS

    # host:port of the API server that clusters claim to have, e.g. one on loopback
    gke_endpoint: str | None = None
    gke_certificate_authority: str | None = None  # base64 of its PEM
    # How long a machine of a pool that scales stands idle before it goes; ten minutes at Google
    idle_seconds: float = 5.0
    quotas: dict[str, float] = field(
        default_factory=dict
    )  # metric: limit, over the table in quotas.py
    projects: list[str] = field(default_factory=lambda: [PROJECT])  # those that there are
    disabled_services: list[str] = field(default_factory=list)  # as container.googleapis.com


class GcpState:
    """Everything that is up; `reset` makes it new."""

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        self.settings = GcpSettings()
        self.faults = Faults()
        self.timeline = Timeline()
        self.calls: list[CallRecord] = []
        self.since = time.time()
        self.clusters: dict[Key, dict[str, Any]] = {}
        self.nodes: dict[
            tuple[str, str, str, str], list[dict[str, Any]]
        ] = {}  # cluster's key and pool: compute instances
        self.operations: dict[
            str, dict[str, Any]
        ] = {}  # by name, with `kind` of the API that speaks of it
        self.compute: dict[
            str, dict[Key, dict[str, Any]]
        ] = {}  # disks, firewalls, ...: what is there of each
        self.buckets: dict[str, dict[str, Any]] = {}
        self.objects: dict[str, dict[str, dict[str, Any]]] = {}
        self.repositories: dict[Key, dict[str, Any]] = {}
        self.requests: dict[
            str, dict[str, Any]
        ] = {}  # requestId: the operation it was answered with
        self._numbers, self._ids = itertools.count(1), itertools.count(1)

    def later(self, delay: str, happen: Any) -> None:
        """Let something happen after the delay of that name."""
        self.timeline.after(self.settings.delays[delay], happen)

    def number(self) -> int:
        """The number of the next call."""
        return next(self._numbers)

    def id(self) -> str:
        """A number for the next thing, as long as Google's."""
        return str(4_000_000_000_000_000_000 + next(self._ids))

    def of(self, kind: str) -> dict[Key, dict[str, Any]]:
        return self.compute.setdefault(kind, {})


def now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3] + "Z"


def digest(*words: object, length: int = 8) -> str:
    """A few hexadecimal digits that stand for these words."""
    return hashlib.sha256("\0".join(map(str, words)).encode()).hexdigest()[:length]
