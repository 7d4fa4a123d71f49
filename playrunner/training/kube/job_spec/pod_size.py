"""How much cpu, memory and local disk a pod asks for and is limited to, beside its devices."""

from __future__ import annotations

import math
from collections.abc import Sequence

from playrunner.errors import BadInput
from playrunner.frozen import frozen
from playrunner.training.kube.job_spec.node_capacity import NodeCapacity, amount
from playrunner.training.kube.session import ClusterSettings
from trainer.config import Profile

NAMES = ("cpu", "memory", "ephemeral-storage")
WHOLE = 0.9  # of a node that one pod takes: the rest is for the pods that every node has
LEAST = 0.5  # of a node that such a pod takes at least; what holds more of it is in the way
GIB = 2.0**30
_PROCESS_BYTES = 1.5 * GIB  # torch, its libraries and the loaders of one process
_PARAMETER_BYTES = 16  # weights, gradients and two moments, in fp32
_LIMIT = 4  # times the estimate that a pod on CPUs is limited to


@frozen
class PodSize:
    """As Kubernetes writes them."""

    requests: tuple[tuple[str, str], ...] = ()
    limits: tuple[tuple[str, str], ...] = ()


def pod_size(
    profile: Profile,
    settings: ClusterSettings,
    device: str,
    likes: Sequence[NodeCapacity],
    part: float,
    processes: int,
    nodes: int,
    whole: str = "",
) -> PodSize:
    """`part`: how much of a node's devices the pod has, 1 for all; `whole`: the device's name.
    What inventory and profile say wins, and is both asked for and the limit."""
    given = {name: text for name, text in _given(profile, settings).items() if text}
    if device == "cpu":
        requests, limits = _on_cpus(profile, likes, processes, nodes)
    else:
        free = [offer for offer in likes if offer.free.get(whole, 0) >= offer.has.get(whole, 0)]
        requests = limits = {
            name: text
            for name, unit in (("cpu", 1.0), ("memory", GIB))
            if (text := _of_node(name, unit, likes, free, part, nodes))
        }
    return PodSize(tuple({**requests, **given}.items()), tuple({**limits, **given}.items()))


def _given(profile: Profile, settings: ClusterSettings) -> dict[str, str]:
    resources = {
        **{
            name: profile.launch.resources[name]
            for name in NAMES
            if name in profile.launch.resources
        },
        **settings.resources,
    }
    for name, value in resources.items():
        if name not in NAMES:
            raise BadInput(
                f'train_resources "{name}": it is {", ".join(NAMES)}; devices are counted from the'
                " nodes"
            )
        if value and amount(value) <= 0:
            raise BadInput(f'train_resources {name} "{value}": it is an amount such as 8 or 64Gi')
    return {name: str(value) if value else "" for name, value in resources.items()}


def _of_node(
    name: str,
    unit: float,
    likes: Sequence[NodeCapacity],
    free: Sequence[NodeCapacity],
    part: float,
    nodes: int,
) -> str:
    """As much as the nodes that will be taken have left, within what a whole-node pod may have."""
    has = min((offer.has.get(name, 0.0) for offer in likes), default=0.0)
    rooms = sorted((offer.free.get(name, 0.0) for offer in free), reverse=True)[:nodes]
    taken = max(LEAST * has, min([WHOLE * has, *rooms])) * part
    count = math.floor(taken / unit)
    return "" if count < 1 else str(count) if unit == 1.0 else f"{count}Gi"


def _on_cpus(
    profile: Profile, likes: Sequence[NodeCapacity], processes: int, nodes: int
) -> tuple[dict[str, str], dict[str, str]]:
    """Cores for the processes; memory by the model's size. Cores are not limited: a process that
    is throttled holds up all others."""
    requests, limits = {"cpu": _cores(likes, processes, nodes)}, {}
    has = min((offer.has.get("memory", 0.0) for offer in likes), default=0.0)
    wanted = _estimate(profile, processes)
    most = math.floor(WHOLE * has / 2**20)
    if most >= 1:
        requests["memory"] = f"{min(math.ceil(wanted / 2**20), most // 2 or 1)}Mi"
        limits["memory"] = f"{min(math.ceil(_LIMIT * wanted / 2**20), most)}Mi"
    return requests, limits


def _cores(likes: Sequence[NodeCapacity], processes: int, nodes: int) -> str:
    """A core for each process, or as much of it as the nodes that will be taken have left: a
    machine of two cores offers less than two to pods, and trains with two processes all the
    same."""
    has = min((offer.has.get("cpu", 0.0) for offer in likes), default=0.0)
    if not has:
        return str(processes)
    wanted = min(float(processes), WHOLE * has)
    rooms = sorted((offer.free.get("cpu", 0.0) for offer in likes), reverse=True)[:nodes]
    thousandths = math.floor(1000 * max(LEAST * wanted, min([wanted, *rooms])))
    return f"{thousandths}m" if thousandths % 1000 else str(thousandths // 1000)


def _estimate(profile: Profile, processes: int) -> float:
    model = profile.train.model
    parameters = 12.0 * model.layers * model.width**2 + model.vocab_size * model.width
    return processes * (_PROCESS_BYTES + parameters * _PARAMETER_BYTES)
