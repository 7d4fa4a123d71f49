"""Machines of the pretend Google Cloud: those of its node pools become nodes, its clusters lead to
this API, and pools scale."""

from __future__ import annotations

import base64
import time
from collections.abc import Iterable
from typing import Any

from playrunner.sandbox.http.control_client import ask, endpoint_of
from playrunner.sandbox.kube.controllers.framework.controller import Controller, Watch, for_reading
from playrunner.sandbox.kube.controllers.framework.resources import NODES, PODS, Key
from playrunner.sandbox.kube.controllers.machines.machines import Machine, Machines
from playrunner.sandbox.kube.controllers.nodes import gcp_scaling

SOURCE = "gcp"
LOOK_SECONDS = 0.5
EFFECTS = {
    "NO_SCHEDULE": "NoSchedule",
    "NO_EXECUTE": "NoExecute",
    "PREFER_NO_SCHEDULE": "PreferNoSchedule",
}


class GcpNodes(Controller):
    """Polls the pretend Google Cloud, which has no watches. It also plays the clusters'
    autoscaler."""

    name = "gcp-nodes"

    def watches(self) -> Iterable[Watch]:
        return ((PODS, for_reading), (NODES, for_reading))

    def prepare(self) -> None:
        self.queue.add(("", SOURCE))
        self._known: Any = None
        self._idle: dict[str, float] = {}  # machine: since when it is idle

    def reconcile(self, key: Key) -> float | None:
        answer = self._ask("pools")
        if answer is None and endpoint_of(self.context.folder.parent, SOURCE):
            # It is being started, or restarts: what was there is believed to be there
            return LOOK_SECONDS
        if answer != self._known:
            self._known = answer
            there = [
                machine for pool in (answer or {}).get("pools", ()) for machine in machines_of(pool)
            ]
            self.context.the(Machines).put(SOURCE, there if answer and answer["clusters"] else None)
        if answer:
            self._lead_here(answer)
            for pool in answer["pools"]:
                self._scale(pool, float(answer["idle_seconds"]))
        return LOOK_SECONDS

    def _ask(self, name: str, body: Any = None) -> Any:
        return ask(self.context.folder.parent, SOURCE, name, body)

    def _lead_here(self, found: dict[str, Any]) -> None:
        """Have its clusters name this API as their own; said again after a reset, which forgets
        it."""
        here = self.context.api.server.removeprefix("https://")
        if found["gke_endpoint"] != here:
            authority = base64.b64encode((self.context.folder / "ca.crt").read_bytes()).decode()
            self._ask("settings", {"gke_endpoint": here, "gke_certificate_authority": authority})

    def _scale(self, pool: dict[str, Any], idle_seconds: float) -> None:
        if not pool["autoscaling"].get("enabled") or pool["status"] != "RUNNING":
            return
        pods, nodes = (
            self.context.see(PODS).all(),
            {node["metadata"]["name"]: node for node in self.context.see(NODES).all()},
        )
        pool_id = {name: pool[name] for name in ("project", "location", "cluster", "pool")}
        more = gcp_scaling.machines_wanted(
            pods, nodes, template(pool), [node["name"] for node in pool["nodes"]]
        )
        if more:
            zones = max(1, len({node["zone"] for node in pool["nodes"]}))
            self._ask("pools", {**pool_id, "size": len(pool["nodes"]) // zones + more})
            return
        over = self._idle_for(pool, gcp_scaling.used_nodes(pods), idle_seconds)
        if over:
            self._ask("pools", {**pool_id, "size": len(pool["nodes"]) - len(over), "remove": over})

    def _idle_for(self, pool: dict[str, Any], used: set[str], seconds: float) -> list[str]:
        """The machines that have been idle for so long."""
        now, names = time.monotonic(), [one["name"] for one in pool["nodes"]]
        for name in names:
            if name in used:
                self._idle.pop(name, None)
            else:
                self._idle.setdefault(name, now)
        least = int(pool["autoscaling"].get("minNodeCount") or 0)
        over = [name for name in names if now - self._idle.get(name, now) > seconds]
        return over[: max(0, len(names) - least)]


def machines_of(pool: dict[str, Any]) -> list[Machine]:
    """Those that run; one that is being started is no node yet."""
    return [
        _machine(pool, one["name"], one["zone"])
        for one in pool["nodes"]
        if one["status"] == "RUNNING"
    ]


def template(pool: dict[str, Any]) -> Machine:
    """What a machine of the pool would be like."""
    return _machine(pool, "", pool["location"])


def _machine(pool: dict[str, Any], name: str, zone: str) -> Machine:
    taints = tuple(
        {"key": one["key"], "value": one.get("value", ""), "effect": EFFECTS[one["effect"]]}
        for one in pool["taints"]
    )
    family = pool["machine_type"].split("-")[0]
    labels = {
        "cloud.google.com/gke-nodepool": pool["pool"],
        "cloud.google.com/machine-family": family,
        **pool["labels"],
    }
    labels |= (
        {"cloud.google.com/gke-accelerator": pool["accelerator"]} if pool["accelerator"] else {}
    )
    labels |= {"cloud.google.com/gke-spot": "true"} if pool["spot"] else {}
    return Machine(
        name,
        pool["cpus"],
        pool["memory_gib"],
        110,
        labels,
        taints,
        {"nvidia.com/gpu": pool["accelerators"]} if pool["accelerators"] else {},
        provider_id=f"gce://{pool['project']}/{zone}/{name}",
        region=zone.rpartition("-")[0],
        zone=zone,
        instance_type=pool["machine_type"],
    )
