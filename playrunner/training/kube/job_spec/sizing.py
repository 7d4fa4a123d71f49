"""How large each pod is: counted from what nodes offer and the instance table, never typed; what
does not fit is refused here."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from playrunner.frozen import frozen
from playrunner.project import program
from playrunner.training.environment.machine_facts import instance
from playrunner.training.kube.job_spec.job import Share
from playrunner.training.kube.job_spec.node_capacity import NodeCapacity, amount
from playrunner.training.kube.job_spec.pod_size import pod_size
from playrunner.training.kube.session import ClusterSettings
from playrunner.training.request import LaunchRefused
from trainer.config import Profile

GPU, NEURON, NEURON_CORES, EFA = (
    "nvidia.com/gpu",
    "aws.amazon.com/neuron",
    "aws.amazon.com/neuroncore",
    "vpc.amazonaws.com/efa",
)
HUGE_PAGES, HUGE_PAGES_MIB = "hugepages-2Mi", 5120  # what libfabric takes on the largest machines
_USES_PAGES = "FI_EFA_USE_HUGE_PAGE"
PLUGINS = {
    GPU: f"{program()} nvidia.create (on GKE: {program()} gke-driver.create)",
    NEURON: f"{program()} neuron.create",
}
PASSED_TAINTS = {"cuda": ("nvidia.com/gpu",), "neuron": ("aws.amazon.com/neuron",), "cpu": ()}
_CORES_PER_DEVICE = {"trn2": 4, "trn2u": 4}  # Neuron cores that train, of one device; 2 elsewhere


@frozen
class RequestedNodes:
    """What is asked of the cluster."""

    nodes: int  # now
    most: int  # an elastic run's largest number
    processes: int = 0  # per node, where the user insists
    growth: Callable[[Sequence[NodeCapacity]], int] = lambda likes: (
        0
    )  # nodes that the group of these may still be given


def share_of(
    profile: Profile,
    offered: Sequence[NodeCapacity],
    settings: ClusterSettings,
    requested: RequestedNodes,
) -> Share:
    """One pod's part of one node; all pods of a run are alike."""
    device = _device(profile, offered, settings)
    name = {"cuda": GPU, "neuron": NEURON}.get(device, "")
    fitting = [
        offer
        for offer in offered
        if may_run(offer, settings, PASSED_TAINTS[device]) and (not name or offer.has.get(name))
    ]
    kinds = sorted(
        {offer.instance_type for offer in fitting},
        key=lambda kind: -_free_nodes(fitting, kind, name),
    )
    likes = [offer for offer in fitting if offer.instance_type == kinds[0]] if kinds else []
    share = _share(device, name, likes, settings, profile, requested.processes, requested.nodes)
    _refuse_if_short(share, offered, likes, settings, requested)
    return share


def _device(profile: Profile, offered: Sequence[NodeCapacity], settings: ClusterSettings) -> str:
    if profile.train.device == "cpu":
        return "cpu"
    wanted = (
        NEURON
        if profile.train.strategy.name == "neuron" or NEURON in profile.launch.resources
        else GPU
        if profile.train.device == "cuda" or GPU in profile.launch.resources
        else ""
    )
    there = [name for name in (GPU, NEURON) if any(offer.has.get(name) for offer in offered)]
    to_come = instance(settings.instance_type) if settings.autoscaled_nodes else None
    if wanted and wanted not in there and not (to_come and to_come.accelerators):
        kinds = (
            ", ".join(
                f"{offer.name} ({offer.instance_type or 'type not told'})" for offer in offered
            )
            or "no nodes at all"
        )
        raise LaunchRefused(
            f"no node offers {wanted}: the cluster has {kinds}; if they have such devices, their"
            f" plugin is missing: {PLUGINS[wanted]}"
        )
    chosen = wanted or (there[0] if there else "")
    return {GPU: "cuda", NEURON: "neuron"}.get(chosen, "cpu")


def _share(
    device: str,
    name: str,
    likes: Sequence[NodeCapacity],
    settings: ClusterSettings,
    profile: Profile,
    insisted: int,
    nodes: int,
) -> Share:
    kind = likes[0].instance_type if likes else settings.instance_type
    table = instance(kind)
    devices = (
        int(min((offer.has[name] for offer in likes), default=table.accelerators if table else 0))
        if name
        else 0
    )
    cores = int(min((offer.has.get("cpu", 1) for offer in likes), default=1)) or 1
    efa = (
        int(min((offer.has.get(EFA, 0) for offer in likes), default=table.efa if table else 0))
        if device != "cpu"
        else 0
    )
    memory = min((offer.has.get("memory", 0) for offer in likes), default=0)
    processes = insisted or _processes(device, kind, devices, likes, profile)
    if device == "cuda" and insisted:
        devices, efa = min(devices, insisted), efa if insisted >= devices else 0
    asked = {name: str(devices)} if name else {}
    asked |= {EFA: str(efa)} if efa else {}
    used = settings.huge_pages or profile.launch.environment.get(_USES_PAGES, "0") != "0"
    pages = min((offer.has.get(HUGE_PAGES, 0) for offer in likes), default=0) / 2**20
    if efa and used and pages >= 2:
        asked |= {HUGE_PAGES: f"{int(min(pages, HUGE_PAGES_MIB))}Mi"}
    there = min((offer.has.get(name, 0) for offer in likes), default=devices) if name else 0
    part = devices / there if there else 1.0
    size = pod_size(profile, settings, device, likes, part, processes, nodes, name)
    requests, limits = dict(size.requests), dict(size.limits)
    if HUGE_PAGES in asked and not requests:
        requests = {"cpu": str(processes)}  # they may only be asked for beside cores or memory
    return Share(
        processes,
        device,
        tuple(asked.items()),
        tuple(requests.items()),
        tuple(limits.items()),
        _shared_memory(memory, limits),
        cores,
        efa,
        kind,
        PASSED_TAINTS[device],
        tuple(_fewer_cards(efa, kind, part, profile)) if device != "cpu" else (),
    )


def _shared_memory(memory: float, limits: dict[str, str]) -> int:
    """Half of the node's, in GiB, and within the pod's own limit, of which it is a part."""
    limit = amount(limits.get("memory", "")) if "memory" in limits else memory
    return int(min(memory / 2, limit) / 2**30)


def _fewer_cards(efa: int, kind: str, part: float, profile: Profile) -> Iterator[str]:
    """Training without its network cards works, at a fraction of the speed."""
    table = instance(kind)
    wanted = table.efa if table else int(profile.launch.resources.get(EFA) or 0)
    if part >= 1 and efa < wanted:
        yield (
            f"network: {kind or 'these'} nodes have {wanted} EFA cards, and the cluster offers"
            f" {efa} of them to pods: {program()} efa.create installs the device plugin, kubectl"
            " describe nodes shows what is offered; without them ranks talk over TCP"
        )


def _processes(
    device: str, kind: str, devices: int, likes: Sequence[NodeCapacity], profile: Profile
) -> int:
    if device == "cuda":
        return devices
    if device == "neuron":
        neuron_cores = int(min((offer.has.get(NEURON_CORES, 0) for offer in likes), default=0))
        return neuron_cores or devices * _CORES_PER_DEVICE.get(kind.partition(".")[0], 2)
    return profile.launch.processes_per_node


def _refuse_if_short(
    share: Share,
    offered: Sequence[NodeCapacity],
    likes: Sequence[NodeCapacity],
    settings: ClusterSettings,
    requested: RequestedNodes,
) -> None:
    asked = {**dict(share.requests), **dict(share.resources)}
    numbers = {name: amount(value) for name, value in asked.items() if name in _counted(likes)}
    room = [
        offer
        for offer in likes
        if all(offer.free.get(name, 0) >= value for name, value in numbers.items())
    ]
    to_come = max(0, settings.autoscaled_nodes - len(likes))
    asked = _worth_telling(asked, numbers, likes, share)
    each = " and ".join(f"{value} {name}" for name, value in asked.items())
    if len(room) + to_come < requested.nodes:
        shown = (
            "; ".join(_told(offer, offer in likes, settings, share, asked) for offer in offered)
            or "it has no nodes"
        )
        fewer = f"use --nodes {len(room) + to_come}, " if room or to_come else ""
        raise LaunchRefused(
            f"{requested.nodes} node{'s' * (requested.nodes != 1)} with {each} free are wanted,"
            " and the"
            f" cluster has {len(room)}: {shown}; {fewer}end what holds them ({program()}"
            " train.status),"
            " or add nodes first"
        )
    most = len(likes) + to_come
    if requested.most > most and requested.most > (
        most := max(most, len(likes) + requested.growth(likes))
    ):
        raise LaunchRefused(
            f"launch.max_nodes is {requested.most}, and the cluster has {most} nodes with {each}:"
            f" a job that may grow beyond them would wait for ever; set launch.max_nodes={most}"
        )


def _counted(likes: Sequence[NodeCapacity]) -> set[str]:
    """What the nodes tell the amount of; local disk is not always told."""
    return {name for offer in likes for name in offer.has} | {GPU, NEURON, EFA}


def _worth_telling(
    asked: dict[str, str],
    numbers: dict[str, float],
    likes: Sequence[NodeCapacity],
    share: Share,
) -> dict[str, str]:
    """Devices, cores of runs without any, and whatever is short somewhere."""
    short = {
        name
        for name, value in numbers.items()
        if any(offer.free.get(name, 0) < value for offer in likes)
    }
    own = dict(share.resources) or ("cpu",)
    return {name: value for name, value in asked.items() if name in own or name in short}


def _told(
    offer: NodeCapacity, alike: bool, settings: ClusterSettings, share: Share, asked: dict[str, str]
) -> str:
    if not offer.usable:
        return f"{offer.name} is not ready or cordoned"
    if not alike:
        taints = [key for key, _, effect in offer.taints if effect != "PreferNoSchedule"]
        why = f"is tainted ({', '.join(taints)})" if taints else "is of another kind"
        return f"{offer.name} {why}"
    parts = [
        f"{_spelled(offer.free.get(name, 0), name)} of {_spelled(offer.has.get(name, 0), name)}"
        f" {name} free"
        for name in asked
    ]
    held = (
        f", held by {', '.join(offer.holders[:2])}"
        if offer.holders and any(offer.free.get(name, 0) < offer.has.get(name, 0) for name in asked)
        else ""
    )
    return f"{offer.name} has {' and '.join(parts)}{held}"


def may_run(offer: NodeCapacity, settings: ClusterSettings, passed: Sequence[str]) -> bool:
    if not offer.usable or any(
        offer.labels.get(key) != value for key, value in settings.node_selector.items()
    ):
        return False
    given = [str(one.get("key") or "") for one in settings.tolerations]
    return all(
        effect == "PreferNoSchedule" or key in passed or key in given or "" in given
        for key, _, effect in offer.taints
    )


def _free_nodes(offered: Sequence[NodeCapacity], kind: str, name: str) -> int:
    alike = [offer for offer in offered if offer.instance_type == kind]
    return sum(not name or offer.free.get(name, 0) >= offer.has.get(name, 0) for offer in alike)


def _spelled(value: float, name: str) -> str:
    in_bytes = name == "ephemeral-storage" or name.startswith(("memory", "hugepages"))
    return f"{_short(value / 2**30)}Gi" if in_bytes else _short(value)


def _short(value: float) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".")
