"""Nodes: one for each machine, with what it offers now; they go with their machines."""

from __future__ import annotations

import json
from collections.abc import Iterable

from playrunner.sandbox.kube.controllers.framework.controller import Controller, Watch, by_itself
from playrunner.sandbox.kube.controllers.framework.controller_context import now
from playrunner.sandbox.kube.controllers.framework.pods import is_ready
from playrunner.sandbox.kube.controllers.framework.resources import (
    NODES,
    PODS,
    Key,
    Object,
    annotations_of,
    labels_of,
)
from playrunner.sandbox.kube.controllers.kubelet.endpoint import Endpoint
from playrunner.sandbox.kube.controllers.machines.devices import offered_by
from playrunner.sandbox.kube.controllers.machines.machines import Machine, Machines
from playrunner.sandbox.kube.controllers.scheduling.fit import HOSTNAME
from playrunner.sandbox.kube.schema.quantities import canonical

OURS = "sandbox.playrunner/machine"  # on every node that stands for a machine
TAINTS = "sandbox.playrunner/taints"  # those that its machine came with
RESERVED_MILLICPU, RESERVED_GIB = 80, 1.0  # what the system keeps for itself
_LIFE_CYCLE = (
    "not-ready",
    "unreachable",
    "unschedulable",
)  # taints that follow from the node's state


class NodeController(Controller):
    name = "nodes"

    def watches(self) -> Iterable[Watch]:
        return ((NODES, by_itself), (PODS, _brings_devices))

    def prepare(self) -> None:
        self.context.the(Machines).listen(lambda name: self.queue.add(("", name)))

    def reconcile(self, key: Key) -> float | None:
        node, machine = self.context.see(NODES).get(*key), self.context.the(Machines).get(key[1])
        if machine is None:
            if node is not None and OURS in labels_of(node):
                self.context.delete(NODES, node)
            return None
        if node is None:
            node = self.context.create(NODES, _node(machine))
        node = self._keep_labels(node, machine)
        self._keep_taints(node, machine)
        self._keep_status(node, machine)
        return None

    def _keep_labels(self, node: Object, machine: Machine) -> Object:
        """A node group's own labels and taints may change; what others put on the node stays."""
        labels = {
            name: value
            for name, value in machine.labels.items()
            if labels_of(node).get(name) != value
        }
        given = json.dumps(machine.taints, sort_keys=True)
        metadata: Object = {"labels": labels} if labels else {}
        spec: Object = {}
        if annotations_of(node).get(TAINTS) != given:
            before = json.loads(annotations_of(node).get(TAINTS) or "[]")
            there = (node.get("spec") or {}).get("taints") or ()
            others = [one for one in there if one not in before and one not in machine.taints]
            metadata |= {
                "annotations": {TAINTS: given},
                "resourceVersion": node["metadata"]["resourceVersion"],
            }
            spec = {"taints": [*others, *machine.taints] or None}
        return (
            self.context.patch(NODES, node, {"metadata": metadata, "spec": spec})
            if metadata
            else node
        )

    def _keep_taints(self, node: Object, machine: Machine) -> None:
        spec = node.get("spec") or {}
        lacking = (
            [("unreachable", "NoSchedule"), ("unreachable", "NoExecute")] if not machine.up else []
        )
        lacking += [("unschedulable", "NoSchedule")] if spec.get("unschedulable") else []
        wanted = [
            {"key": f"node.kubernetes.io/{name}", "effect": effect} for name, effect in lacking
        ]
        there = spec.get("taints") or []
        own = [one for one in there if not _follows_state(one)]
        known = {(one["key"], one["effect"]): one for one in there if _follows_state(one)}
        kept = [
            known.get((one["key"], one["effect"])) or {**one, "timeAdded": now()} for one in wanted
        ]
        if [*own, *kept] != there:
            # With the version, so that a taint that is set meanwhile is not lost.
            version = node["metadata"]["resourceVersion"]
            self.context.patch(
                NODES,
                node,
                {
                    "metadata": {"resourceVersion": version},
                    "spec": {"taints": [*own, *kept] or None},
                },
            )

    def _keep_status(self, node: Object, machine: Machine) -> None:
        pods = [
            pod
            for pod in self.context.see(PODS).all()
            if pod["spec"].get("nodeName") == machine.name and is_ready(pod)
        ]
        plugged = {device for pod in pods for device in offered_by(pod)}
        devices = {name: str(count) for name, count in machine.devices.items() if name in plugged}
        there = node.get("status") or {}
        gone = {
            name: None
            for name in machine.devices
            if name in there.get("capacity", {}) and name not in plugged
        }
        kib = int(machine.memory_gib * 1024 * 1024)
        always = {
            "pods": str(machine.pods),
            "ephemeral-storage": "100Gi",
            **machine.resources,
            **devices,
            **gone,
        }
        capacity = {"cpu": str(machine.cpu), "memory": canonical(f"{kib}Ki"), **always}
        left = kib - int(min(RESERVED_GIB, machine.memory_gib / 8) * 1024 * 1024)
        allocatable = {
            **capacity,
            "cpu": f"{machine.cpu * 1000 - RESERVED_MILLICPU}m",
            "memory": canonical(f"{left}Ki"),
        }
        status = {
            "capacity": capacity,
            "allocatable": allocatable,
            "conditions": _conditions(node, machine),
        }
        status |= self.context.the(Endpoint).node_status()
        if gone or any(there.get(name) != value for name, value in status.items()):
            self.context.patch(NODES, node, {"status": {**status, "nodeInfo": _INFO}}, "status")


def _follows_state(taint: Object) -> bool:
    return taint["key"] in tuple(f"node.kubernetes.io/{name}" for name in _LIFE_CYCLE)


def _brings_devices(pod: Object) -> Iterable[Key]:
    node = pod["spec"].get("nodeName")
    return (("", node),) if node and offered_by(pod) else ()


def _node(machine: Machine) -> Object:
    labels = {
        HOSTNAME: machine.name,
        "kubernetes.io/os": "linux",
        "kubernetes.io/arch": "amd64",
        OURS: "true",
        "topology.kubernetes.io/region": machine.region,
        "topology.kubernetes.io/zone": machine.zone,
        "node.kubernetes.io/instance-type": machine.instance_type,
        **machine.labels,
    }
    labels = {name: value for name, value in labels.items() if value or name in machine.labels}
    spec: Object = {"taints": list(machine.taints)} if machine.taints else {}
    if machine.provider_id:
        spec["providerID"] = machine.provider_id
    marks = {TAINTS: json.dumps(machine.taints, sort_keys=True)}
    return {
        "metadata": {"name": machine.name, "labels": labels, "annotations": marks},
        "spec": spec,
    }


def _conditions(node: Object, machine: Machine) -> list[Object]:
    known = {
        condition["type"]: condition
        for condition in (node.get("status") or {}).get("conditions") or ()
    }
    ready = (
        ("Ready", "True", "KubeletReady", "kubelet is posting ready status")
        if machine.up
        else ("Ready", "Unknown", "NodeStatusUnknown", "Kubelet stopped posting node status.")
    )
    wanted = [
        (
            f"{what}Pressure",
            "False",
            f"KubeletHasNo{what}Pressure",
            f"kubelet has no {what.lower()} pressure",
        )
        for what in ("Memory", "Disk", "PID")
    ]
    conditions = []
    for kind, value, reason, message in [*wanted, ready]:
        condition = known.get(kind)
        if condition is None or (condition["status"], condition.get("reason")) != (value, reason):
            condition = {
                "type": kind,
                "status": value,
                "reason": reason,
                "message": message,
                "lastHeartbeatTime": now(),
                "lastTransitionTime": now(),
            }
        conditions.append(condition)
    return conditions


_INFO = {
    "machineID": "sandbox",
    "systemUUID": "sandbox",
    "bootID": "sandbox",
    "kernelVersion": "sandbox",
    "osImage": "this machine, pretending",
    "containerRuntimeVersion": "sandbox://1",
    "kubeletVersion": "v1.33.0",
    "kubeProxyVersion": "v1.33.0",
    "operatingSystem": "linux",
    "architecture": "amd64",
}
