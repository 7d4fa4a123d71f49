"""Stacks: which clusters a search is about, and how a resource is known to belong to one."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from playrunner.cloud.owner import CLUSTER
from playrunner.frozen import frozen
from playrunner.gcp import marks
from playrunner.gcp.client import Gcp
from playrunner.leftovers.aws.stacks import Claim
from playrunner.leftovers.leftover import ServiceResource

CLUSTER_LABEL = "goog-k8s-cluster-name"  # GKE's, on what it makes for a cluster
_NODE_TAG = re.compile(
    r"gke-(.+)-[0-9a-f]{8}-node"
)  # the network tag of a cluster's nodes, which rules made for it name


@frozen
class GcpStacks:
    """What is known of our stacks before their things are looked for."""

    wanted: str | None  # only this stack; None: every one that left a mark
    names: frozenset[str]  # of all stacks that left a mark, and the wanted one
    kubernetes: Mapping[
        str, str
    ]  # every GKE cluster there is, by name: the stack it is marked with, or ""
    balancers: Mapping[str, str]  # the name of a load balancer: the cluster whose nodes it leads to
    known_as: frozenset[str] = (
        frozenset()
    )  # what the wanted stack's clusters were called, when not like it

    def claim(self, thing: ServiceResource) -> Claim | None:
        """Whose the thing is; None for what is no wanted stack's."""
        claim = self._claim(thing)
        return claim if claim and self.wanted in (None, claim.stack) else None

    def _claim(self, thing: ServiceResource) -> Claim | None:
        mark = thing.tags.get(CLUSTER)
        if mark:
            return Claim(mark, True, "tagged as ours")
        cluster = thing.tags.get(CLUSTER_LABEL) or thing.sign
        stack = self.stack_of(cluster) if cluster else ""
        return Claim(stack, False, f"made by cluster {cluster}") if stack else None

    def stack_of(self, kubernetes: str) -> str:
        """The stack of a cluster: by the mark on it; by its name only when there is none of that
        name any more."""
        if kubernetes in self.kubernetes:
            return self.kubernetes[kubernetes]
        if kubernetes in self.known_as and self.wanted:
            return self.wanted
        return kubernetes if kubernetes in self.names else ""


def read_stacks(gcp: Gcp, wanted: str | None, known_as: Iterable[str] = ()) -> GcpStacks:
    """Learn what there is; what cannot even be asked here ends the search."""
    project = f"projects/{gcp.project}"
    clusters = gcp.listing("container", f"{project}/locations/-/clusters", "clusters")
    kubernetes = {
        str(raw["name"]): str((raw.get("resourceLabels") or {}).get(marks.MARK, ""))
        for raw in clusters
    }
    disks = gcp.listing("compute", f"{project}/aggregated/disks", "items")
    marked = {str((raw.get("labels") or {}).get(marks.MARK, "")) for raw in disks}
    names = {name for name in (*kubernetes.values(), *marked, wanted or "") if name}
    rules = gcp.listing("compute", f"{project}/global/firewalls", "items")
    return GcpStacks(wanted, frozenset(names), kubernetes, balancers(rules), frozenset(known_as))


def balancers(rules: Iterable[Mapping[str, Any]]) -> dict[str, str]:
    """A Service's load balancer is a forwarding rule NAME, and a firewall rule k8s-fw-NAME that
    names its cluster's nodes."""
    clusters = {}
    for rule in rules:
        name = str(rule["name"])
        if name.startswith("k8s-fw-") and (cluster := cluster_of(rule)):
            clusters[name.removeprefix("k8s-fw-")] = cluster
    return clusters


def cluster_of(rule: Mapping[str, Any]) -> str:
    """The cluster whose nodes a firewall rule is about."""
    matches = [_NODE_TAG.fullmatch(str(tag)) for tag in rule.get("targetTags") or ()]
    return next((match[1] for match in matches if match), "")
