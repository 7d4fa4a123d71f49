"""What a Service's load balancer is made of: a forwarding rule, a target pool, an address and
firewall rules. None takes labels of ours; they are known by the cluster that made them. The
firewall rule tells which, so it goes last."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from playrunner.cloud import prices
from playrunner.gcp.client import Gcp
from playrunner.leftovers.gcp.kind import GcpKind, path_of
from playrunner.leftovers.gcp.stacks import GcpStacks, cluster_of
from playrunner.leftovers.leftover import ServiceResource


class _Piece(GcpKind):
    """A part of a load balancer that lies in a region."""

    service = "compute"
    plural: ClassVar[str]
    hourly: ClassVar[float] = 0.0

    def things(self, gcp: Gcp, stacks: GcpStacks) -> Iterable[ServiceResource]:
        for raw in gcp.listing(
            "compute", f"projects/{gcp.project}/aggregated/{self.plural}", "items"
        ):
            cluster = stacks.balancers.get(str(raw["name"]), "")
            yield self.thing(
                raw, path_of(raw), sign=cluster, monthly_dollars=self.hourly * prices.HOURS
            )


class ForwardingRule(_Piece):
    name, plural, hourly = "forwarding rule", "forwardingRules", prices.GCP_FORWARDING_RULE_HOUR
    after = ("GKE cluster",)


class TargetPool(_Piece):
    name, plural = "target pool", "targetPools"
    after = ("forwarding rule",)


class Address(_Piece):
    name, plural, hourly = "address", "addresses", prices.GCP_ADDRESS_HOUR
    after = ("forwarding rule",)


class FirewallRule(GcpKind):
    name, service = "firewall rule", "compute"
    after = ("GKE cluster", "forwarding rule", "target pool", "address")

    def things(self, gcp: Gcp, stacks: GcpStacks) -> Iterable[ServiceResource]:
        for raw in gcp.listing("compute", f"projects/{gcp.project}/global/firewalls", "items"):
            yield self.thing(raw, path_of(raw), sign=cluster_of(raw))


KINDS: tuple[type[GcpKind], ...] = (ForwardingRule, TargetPool, Address, FirewallRule)
