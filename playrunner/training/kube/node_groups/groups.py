"""Node groups as their clouds tell of them: how many nodes each has, the most it may have, and who
decides how many."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import field
from typing import Any

from playrunner.frozen import frozen
from playrunner.project import program
from playrunner.training.kube.job_spec.node_capacity import NodeCapacity
from playrunner.training.kube.session import ClusterSession
from playrunner.variables.templating import MISSING

LABELS = {"aws": "eks.amazonaws.com/nodegroup", "gcp": "cloud.google.com/gke-nodepool"}
_NO_SUCH = ("ResourceNotFoundException",)
_FROM_EFFECT = {
    "NO_SCHEDULE": "NoSchedule",
    "NO_EXECUTE": "NoExecute",
    "PREFER_NO_SCHEDULE": "PreferNoSchedule",
}


@frozen
class Group:
    """An EKS managed node group, or a GKE node pool."""

    cloud: str  # aws | gcp
    cluster: str
    name: str
    size: int  # nodes that it is to have now
    most: int  # 0 where it is not known
    autoscaled: bool = False  # its cloud adds nodes when pods wait for them
    zones: int = 1  # a pool's size counts in each of them
    declared: dict[str, Any] = field(
        default_factory=dict
    )  # all that its module compares, as it is now

    @property
    def text(self) -> str:
        return f"{'node group' if self.cloud == 'aws' else 'node pool'} {self.name}"

    @property
    def remedy(self) -> str:
        """How its most is raised."""
        if self.cloud == "aws":
            return f"raise max_size of {self.name} in eks_nodegroups, then: {program()} eks.create"
        return f"raise max_nodes of {self.name} in the inventory, then: {program()} gke.create"

    def has(self, offer: NodeCapacity) -> bool:
        return offer.labels.get(LABELS[self.cloud]) == self.name


def group_of(session: ClusterSession, nodes: Iterable[NodeCapacity]) -> Group | None:
    """The group that most of these nodes belong to; none where they belong to none that its cloud
    knows."""
    named = Counter(
        (cloud, offer.labels[label])
        for offer in nodes
        for cloud, label in LABELS.items()
        if offer.labels.get(label)
    )
    if not named:
        return None
    (cloud, name), _ = named.most_common(1)[0]
    return _of_aws(session, name) if cloud == "aws" else _of_gcp(session, name)


def _of_aws(session: ClusterSession, name: str) -> Group | None:
    from playrunner.aws.client import Account, Aws, settings_of

    cluster = (
        _said(session, "eks_existing")
        or _said(session, "eks_name")
        or _said(session, "cluster_name")
    )
    aws = Aws(Account(settings_of(lambda word: _said(session, word))))
    answer = aws.read(
        "eks", "describe_nodegroup", missing=_NO_SUCH, clusterName=cluster, nodegroupName=name
    )
    if answer is None:
        return None
    node_group = answer["nodegroup"]
    sizes = node_group["scalingConfig"]
    declared = {
        "node_role": node_group["nodeRole"],
        "subnets": list(node_group["subnets"]),
        "capacity_type": node_group["capacityType"],
        "min_size": sizes["minSize"],
        "max_size": sizes["maxSize"],
    }
    return Group(
        "aws", cluster, name, int(sizes["desiredSize"]), int(sizes["maxSize"]), declared=declared
    )


def _of_gcp(session: ClusterSession, name: str) -> Group | None:
    from playrunner.gcp.client import Gcp
    from playrunner.gcp.project import Project
    from playrunner.gcp.settings import settings_of

    gcp = Gcp(Project(settings_of(lambda word: _said(session, word))))
    cluster = _said(session, "gke_name") or _said(session, "cluster_name")
    location = _said(session, "gke_location") or gcp.zone
    pool = gcp.read(
        "container",
        f"projects/{gcp.project}/locations/{location}/clusters/{cluster}/nodePools/{name}",
    )
    if pool is None:
        return None
    scaling, urls = pool.get("autoscaling") or {}, pool.get("instanceGroupUrls") or ()
    groups = [
        gcp.read("compute", f"projects/{str(url).partition('/projects/')[2]}") for url in urls
    ]
    size = sum(int(one["targetSize"]) for one in groups if one)
    zones = max(1, len(urls))
    return Group(
        "gcp",
        cluster,
        name,
        size,
        zones * int(scaling.get("maxNodeCount") or 0),
        bool(scaling.get("enabled")),
        zones,
        {"location": location, **_pool(pool.get("config") or {})},
    )


def _pool(config: dict[str, Any]) -> dict[str, Any]:
    """A pool's machines in the words of gcp.gke_nodepool, so that it finds nothing but the size to
    change."""
    card: dict[str, Any] = next(iter(config.get("accelerators") or ()), {})
    taints = [
        {**one, "effect": _FROM_EFFECT.get(one["effect"], one["effect"])}
        for one in config.get("taints") or ()
        if one["key"] != "nvidia.com/gpu"
    ]
    return {
        "machine_type": config["machineType"],
        "disk_gib": int(config["diskSizeGb"]),
        "disk_type": config["diskType"],
        "spot": bool(config.get("spot")),
        "image_type": config["imageType"],
        "labels": dict(config.get("labels") or {}),
        "taints": taints,
        "accelerator": str(card.get("acceleratorType") or ""),
        "accelerators": int(card.get("acceleratorCount") or 0),
    }


def _said(session: ClusterSession, name: str) -> str:
    found = session.scope.lookup(name)
    return "" if found is MISSING or found is None else str(found)
