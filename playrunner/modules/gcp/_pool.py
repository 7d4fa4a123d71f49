"""A node pool's declaration, and its document as the container API takes it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field, fields
from typing import Any

from playrunner.frozen import frozen
from playrunner.hostside.module import Failed
from playrunner.hostside.state import State

EFFECTS = {
    "NoSchedule": "NO_SCHEDULE",
    "NoExecute": "NO_EXECUTE",
    "PreferNoSchedule": "PREFER_NO_SCHEDULE",
}


@frozen
class Pool:
    """What machines, how many, and what Kubernetes sees of them."""

    name: str
    machine_type: str
    nodes: int = 1  # how many in each zone to begin with
    min_nodes: int | None = None  # with max_nodes: GKE keeps as many as pods need
    max_nodes: int | None = None
    accelerator: str = ""
    accelerators: int = 0  # of each machine
    disk_gib: int = 100
    disk_type: str = "pd-balanced"
    spot: bool = False
    image_type: str = "COS_CONTAINERD"
    labels: Mapping[str, str] = field(default_factory=dict)
    taints: tuple[Mapping[str, str], ...] = ()
    service_account: str = ""
    locations: tuple[str, ...] = ()
    workload_identity: bool = True
    driver: str = ""

    @classmethod
    def read(cls, given: Mapping[str, Any]) -> Pool:
        known = {one.name for one in fields(cls)}
        unknown = sorted(set(given) - known)
        missing = [name for name in ("name", "machine_type") if not given.get(name)]
        if unknown or missing:
            raise Failed(
                f"a node pool has no {unknown[0]}; it has {', '.join(sorted(known))}"
                if unknown
                else f"the node pool {given.get('name', '')} needs {missing[0]}".replace("  ", " ")
            )
        chosen = {name: value for name, value in given.items() if value is not None}
        for name in ("taints", "locations"):
            if name in chosen:
                chosen[name] = tuple(chosen[name])
        return cls(**chosen)

    @property
    def scaling(self) -> State:
        if self.max_nodes is None:
            return {"enabled": False}
        return {
            "enabled": True,
            "minNodeCount": self.min_nodes or 0,
            "maxNodeCount": self.max_nodes,
        }

    @property
    def cards(self) -> list[State]:
        if not self.accelerator or not self.accelerators:
            return []
        card: State = {
            "acceleratorType": self.accelerator,
            "acceleratorCount": str(self.accelerators),
        }
        # Said so, or GKE would put a driver on by itself where its version does, and ours beside
        # it.
        return [
            {
                **card,
                "gpuDriverInstallationConfig": {
                    "gpuDriverVersion": self.driver or "INSTALLATION_DISABLED"
                },
            }
        ]

    @property
    def config(self) -> State:
        """What is fixed when it is made."""
        return {
            "machineType": self.machine_type,
            "diskSizeGb": self.disk_gib,
            "diskType": self.disk_type,
            "spot": self.spot,
            "imageType": self.image_type,
        }

    @property
    def taint_list(self) -> list[State]:
        return [
            {
                "key": str(one["key"]),
                "value": str(one.get("value") or ""),
                "effect": EFFECTS.get(str(one["effect"]), str(one["effect"])),
            }
            for one in self.taints
        ]

    def document(self, resource_labels: Mapping[str, str]) -> State:
        config: State = {
            **self.config,
            "resourceLabels": dict(resource_labels),
            "labels": dict(self.labels),
            "oauthScopes": ["https://www.googleapis.com/auth/cloud-platform"],
            "shieldedInstanceConfig": {
                "enableSecureBoot": False,
                "enableIntegrityMonitoring": True,
            },
        }
        more = {
            "accelerators": self.cards,
            "taints": self.taint_list,
            "serviceAccount": self.service_account,
        }
        config.update({name: value for name, value in more.items() if value})
        if self.workload_identity:
            config["workloadMetadataConfig"] = {"mode": "GKE_METADATA"}
        made: State = {
            "name": self.name,
            "config": config,
            "initialNodeCount": self.nodes,
            "management": {"autoUpgrade": True, "autoRepair": True},
        }
        if self.scaling["enabled"]:
            made["autoscaling"] = self.scaling
        if self.locations:
            made["locations"] = list(self.locations)
        return made
