"""The pretend account: settings, faults, the calls made, and what each region holds beside moto's
own state."""

from __future__ import annotations

import itertools
import os
import time
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from moto.iam.models import iam_backends
from moto.moto_api._internal.models import moto_api_backend

from playrunner.sandbox.aws.api.lag import Lag
from playrunner.sandbox.faults import Faults
from playrunner.sandbox.http.calls import CallRecord
from playrunner.sandbox.http.timeline import Timeline
from playrunner.sandbox.settings import Settings

ACCOUNT = "123456789012"

# Seconds from a request to its end. Minutes in the real world; long enough here that a missing wait
# shows.
DELAYS = {
    "eks.cluster.create": 1.0,
    "eks.cluster.delete": 0.6,
    "eks.cluster.update": 0.4,
    "eks.nodegroup.create": 0.8,
    "eks.nodegroup.delete": 0.6,
    "eks.nodegroup.update": 0.4,
    "eks.addon": 0.3,
    "fsx.file_system.create": 0.8,
    "fsx.file_system.delete": 0.5,
    "fsx.association": 0.2,
    "efs.file_system": 0.2,
    "efs.mount_target.create": 0.3,
    "efs.mount_target.delete": 0.4,
    "ec2.instance.start": 0.2,
    "ec2.instance.stop": 0.3,
    "ec2.nat_gateway.create": 0.3,
    "ec2.nat_gateway.delete": 0.4,
    "ec2.vpc_endpoint.delete": 0.2,
    "elb.interface.linger": 0.6,
}


@dataclass
class AwsSettings(Settings):
    """What a rehearsal may choose."""

    DELAYS: ClassVar[dict[str, float]] = DELAYS

    # The API server that clusters claim to have, e.g. a real one on loopback
    eks_endpoint: str | None = None
    eks_certificate_authority: str | None = None  # base64 of its PEM
    quotas: dict[str, float] = field(
        default_factory=dict
    )  # quota code: value, over the table in quotas.py
    reservations: dict[str, dict[str, str]] = field(
        default_factory=dict
    )  # capacity reservations: {id: {zone, instance_type}}
    # How many seconds old an answer may be, by call: {"ec2:DescribeVpcs": 10, "iam:*": 3, "*": 1}
    lag: dict[str, float] = field(default_factory=dict)


@dataclass
class Region:
    """What one region holds that moto does not; descriptions are kept in the service's own
    words."""

    name: str
    clusters: dict[str, dict[str, Any]] = field(default_factory=dict)
    nodegroups: dict[tuple[str, str], dict[str, Any]] = field(default_factory=dict)
    nodes: dict[tuple[str, str], list[str]] = field(
        default_factory=lambda: defaultdict(list)
    )  # instance ids
    addons: dict[tuple[str, str], dict[str, Any]] = field(default_factory=dict)
    access_entries: dict[tuple[str, str], dict[str, Any]] = field(default_factory=dict)
    access_policies: dict[tuple[str, str], dict[str, dict[str, Any]]] = field(
        default_factory=lambda: defaultdict(dict)
    )
    pod_identities: dict[str, dict[str, Any]] = field(default_factory=dict)
    updates: dict[str, dict[str, Any]] = field(default_factory=dict)
    fsx: dict[str, dict[str, Any]] = field(default_factory=dict)
    fsx_links: dict[str, dict[str, Any]] = field(default_factory=dict)  # to buckets
    quota_requests: list[dict[str, Any]] = field(default_factory=list)
    placement_groups: dict[str, dict[str, Any]] = field(default_factory=dict)
    placed: dict[str, str] = field(default_factory=dict)  # instance id: its placement group
    held: dict[str, str] = field(
        default_factory=dict
    )  # network interface id: the service that holds it
    tokens: dict[tuple[str, str], tuple[Any, Any]] = field(
        default_factory=dict
    )  # (action, token): request, answer


class AwsState:
    """Everything that is up; `reset` makes it new."""

    def __init__(self, root: Path) -> None:
        """`root` is the sandbox's folder: its cluster's files are there as well."""
        self.root = root
        self.reset()

    def reset(self) -> None:
        _reset_moto()
        self.settings = AwsSettings()
        self.faults = Faults()
        self.timeline = Timeline()
        self.calls: list[CallRecord] = []
        self.lag = Lag(lambda: self.settings.lag)
        self.regions: dict[str, Region] = {}
        self.sessions: dict[str, Any] = {}  # by the name of its key, what STS gave out
        self.since = time.time()
        self._numbers = itertools.count(1)

    def region(self, name: str) -> Region:
        return self.regions.setdefault(name, Region(name))

    def each_region(self) -> Iterator[Region]:
        yield from self.regions.values()

    def later(self, delay: str, happen: Any) -> None:
        """Let something happen after the delay of that name."""
        self.timeline.after(self.settings.delays[delay], happen)

    def number(self) -> int:
        return next(self._numbers)


def _reset_moto() -> None:
    """Reset moto, keeping the thousand managed policies of IAM: reading them again takes half a
    second."""
    switch = "MOTO_IAM_LOAD_MANAGED_POLICIES"
    kept = iam_backends[ACCOUNT]["aws"].aws_managed_policies
    before, os.environ[switch] = os.environ.get(switch, "true"), "false"
    try:
        moto_api_backend.reset()
        iam = iam_backends[ACCOUNT]["aws"]
    finally:
        os.environ[switch] = before
    for policy in kept:
        policy.attachment_count = 0
    iam.aws_managed_policies = kept
    iam.managed_policies.update({policy.arn: policy for policy in kept})
