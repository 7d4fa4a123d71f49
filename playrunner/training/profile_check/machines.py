"""What an inventory says of the machines that train: their type, how many, and how they are
reached."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from playrunner.cloud.instance_memory import InstanceMemory, instance_memory
from playrunner.cloud.instance_types import GPU, NEURON, instance
from playrunner.frozen import frozen
from playrunner.inventory.patterns import select
from playrunner.options import Options
from playrunner.training.inventory_scope import scope_of, value_of
from playrunner.training.launchers import CLUSTER_LAUNCHERS
from playrunner.variables.asked_inventory import open_inventory
from playrunner.variables.scope import Scope
from trainer.config import Profile


@frozen
class Group:
    """Machines of one kind."""

    setting: str  # of the inventory, where they are described
    type: str  # empty: the inventory does not say
    most: int | None  # of them; None: the inventory does not say


@frozen
class Machines:
    """Those that a profile would run on."""

    group: Group | None
    on_cluster: bool
    claim: str  # what pods share, and where they see it
    mount: str
    environment: tuple[str, ...]  # the names of the variables that processes are given

    @property
    def memory(self) -> InstanceMemory | None:
        return instance_memory(self.group.type) if self.group else None

    def processes(self, profile: Profile) -> int:
        """Per node: on clusters one per device, elsewhere as the profile says."""
        memory = self.memory
        if self.on_cluster and memory and memory.processes and device_of(profile):
            return memory.processes
        return profile.launch.processes_per_node


def device_of(profile: Profile) -> str:
    """The device that the profile needs, as Kubernetes calls it; empty for CPUs."""
    train = profile.train
    if train.device == "cpu":
        return ""
    if train.strategy.name == "neuron" or NEURON in profile.launch.resources:
        return NEURON
    return GPU if train.device == "cuda" or GPU in profile.launch.resources else ""


def machines_of(options: Options, profile: Profile) -> Machines:
    inventory = open_inventory(options)
    scope = scope_of(inventory, options)
    launcher = str(value_of(scope, "train_launcher", "")) or profile.launch.launcher
    groups = list(_groups(scope))
    on_cluster = launcher in CLUSTER_LAUNCHERS or bool(groups)
    if not on_cluster:
        hosts = select(inventory, str(value_of(scope, "train_hosts", "nodes")))
        kind = str(value_of(scope, "instance_type", ""))
        grows = bool(value_of(scope, "sandbox_state", ""))  # it starts as many nodes as are asked
        groups = [Group("train_hosts", kind, None if grows else len(hosts))] if hosts else []
    environment = value_of(scope, "train_environment", {})
    return Machines(
        _chosen(groups, device_of(profile)),
        on_cluster,
        str(value_of(scope, "train_claim", "")),
        str(value_of(scope, "train_mount", "/data")).rstrip("/"),
        tuple(environment) if isinstance(environment, dict) else (),
    )


def _groups(scope: Scope) -> Iterator[Group]:
    for each in _mappings(value_of(scope, "eks_nodegroups", [])):
        kinds = each.get("instance_types") or [""]
        most = max(int(each.get(name) or 0) for name in ("max_size", "min_size", "desired_size"))
        yield Group(f"eks_nodegroups {each.get('name')}", str(kinds[0]), most or None)
    for name in ("gke_gpu_pool", "gke_main_pool"):
        for each in _mappings([value_of(scope, name, None)]):
            most = int(each.get("max_nodes") or each.get("nodes") or 0)
            yield Group(name, str(each.get("machine_type") or ""), most or None)
    kind = str(value_of(scope, "instance_type", ""))
    if kind:
        coming = int(value_of(scope, "train_autoscaled_nodes", 0))
        yield Group("instance_type", kind, coming or None)


def _mappings(values: Any) -> list[dict[str, Any]]:
    return [each for each in values if isinstance(each, dict)] if isinstance(values, list) else []


def _chosen(groups: list[Group], device: str) -> Group | None:
    """The first with the device that is needed; without such a need, or knowledge, the first."""
    for group in groups:
        table = instance(group.type)
        if table is not None and table.device == device:
            return group
    return next((group for group in groups if instance(group.type) is None or not device), None)
