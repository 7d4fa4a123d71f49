"""Room for more pods of a run: its node group grows first where free nodes are too few, never
beyond its most, never back."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace

from playrunner.errors import BadInput, HostUnreachable, StepFailed
from playrunner.frozen import frozen
from playrunner.hostside.module import Failed
from playrunner.options import Options
from playrunner.playbook.playbook import role_play
from playrunner.project import program
from playrunner.run.run import run_plays
from playrunner.text.written import Plain
from playrunner.training.kube.job_spec.node_capacity import NodeCapacity, demand, look
from playrunner.training.kube.job_spec.sizing import PASSED_TAINTS, may_run
from playrunner.training.kube.node_groups.groups import Group, group_of
from playrunner.training.kube.runs.run_view import ClusterRun, again
from playrunner.training.kube.session import ClusterSession
from playrunner.training.request import LaunchRefused

# A machine boots, joins, pulls the device plugin's image and offers its devices
JOIN_SECONDS = 900.0
LOOK_SECONDS = 1.0


@frozen
class Growth:
    """What is to be done before the pods come."""

    group: Group | None = None
    size: int = 0  # the group's new one; 0 leaves it as it is
    more: int = 0  # pods that are to find room then
    text: str = ""

    @property
    def grows(self) -> bool:
        return self.group is not None and self.size > self.group.size


def foresee(session: ClusterSession, run: ClusterRun, more: int) -> Growth:
    """Whether so many more pods have room, or what must grow for them; refused, with the numbers,
    where nothing may."""
    if more <= 0 or not run.pods:
        return Growth()
    wanted = more + _waiting(run)
    offered = look(session.kube, namespace=run.namespace)
    used = [offer for offer in offered if _has(offer, run)]
    free = _free(session, run, offered)
    to_come = max(0, session.settings.autoscaled_nodes - len(used) - len(free))
    missing = wanted - len(free) - to_come
    if missing <= 0:
        return Growth(
            text=(
                "the autoscaler adds nodes (train_autoscaled_nodes) once the pods wait"
                if len(free) < wanted
                else ""
            )
        )
    short = (
        f"{run.name} needs {wanted} more, and {len(free)} free node{'s' * (len(free) != 1)} can"
        f" take one ({_asked(run)})"
    )
    group = group_of(session, used)
    if group is None:
        raise LaunchRefused(
            f"{short}; its nodes belong to no node group that could grow: add nodes, or end what"
            f" holds them ({program()} train.status)"
        )
    size = max(group.size, sum(map(group.has, offered)) + missing)
    if group.autoscaled and size <= group.most:
        return Growth(
            text=(
                f"{group.text} scales itself, to {group.most} at most: its nodes come once the pods"
                " wait"
            )
        )
    if group.most and size > group.most:
        raise LaunchRefused(
            f"{short}; {group.text} has {group.size} nodes of {group.most} at most, and {size} are"
            f" needed: {group.remedy}; or end what holds its nodes ({program()} train.status)"
        )
    text = (
        f"grows from {group.size} to {size} nodes first"
        if size > group.size
        else f"is to have {size} nodes: they are awaited"
    )
    return Growth(group, size, more, f"{group.text} {text}")


def grow(session: ClusterSession, run: ClusterRun, growth: Growth, options: Options) -> None:
    """The group is brought to its new size, and its nodes are waited for until they can take the
    pods."""
    group = growth.group
    if group is None:
        return
    if growth.grows:
        variables = {
            "cloud": group.cloud,
            "cluster": group.cluster,
            "name": group.name,
            "size": -(-growth.size // group.zones),
            **group.declared,
        }
        settings = replace(options, limit="", json=False, quiet=options.json)
        code = run_plays(
            [role_play("training", "localhost", "grow")],
            settings,
            f"train.scale {run.name}",
            inventory=session.inventory,
            extra={"growth": Plain(variables)},
        )
        if code:
            raise StepFailed(
                f"{run.name} keeps its nodes: {group.text} could not grow to {growth.size}, as is"
                " said above"
            )
    deadline = time.monotonic() + JOIN_SECONDS
    while len(
        _free(session, run, look(session.kube, namespace=run.namespace))
    ) < growth.more + _waiting(again(session.kube, run)):
        if time.monotonic() > deadline:
            raise StepFailed(
                f"{run.name} keeps its nodes: {group.text} is to have {growth.size}, and after"
                f" {JOIN_SECONDS:g} s too few are free and offer {_asked(run)}; kubectl get nodes"
                " shows who has joined, kubectl get daemonsets -n kube-system whether device"
                " plugins run; then scale again"
            )
        time.sleep(LOOK_SECONDS)


def growth_left(session: ClusterSession, likes: Sequence[NodeCapacity]) -> int:
    """How many nodes the group of these could still be given; none where its cloud does not say."""
    try:
        group = group_of(session, likes)
    except (
        BadInput,
        HostUnreachable,
        Failed,
    ):  # the cluster can be reached without its cloud; what is there must do then
        return 0
    return max(0, group.most - sum(map(group.has, likes))) if group else 0


def _free(
    session: ClusterSession, run: ClusterRun, offered: list[NodeCapacity]
) -> list[NodeCapacity]:
    """The nodes that can take a pod more of the run: each takes one."""
    asked, passed = demand(run.pods[0]), PASSED_TAINTS[str(run.summary["device"])]
    return [
        offer
        for offer in offered
        if may_run(offer, session.settings, passed)
        and not _has(offer, run)
        and all(offer.free.get(name, 0) >= value for name, value in asked.items())
    ]


def _waiting(run: ClusterRun) -> int:
    """Its pods that have no node yet: they take what becomes free before others do."""
    return sum(not (pod.get("spec") or {}).get("nodeName") for pod in run.pods)


def _has(offer: NodeCapacity, run: ClusterRun) -> bool:
    return any(holder.startswith(run.run_id) for holder in offer.holders)


def _asked(run: ClusterRun) -> str:
    return (
        " and ".join(
            f"{value:g} {name}" for name, value in demand(run.pods[0]).items() if name != "pods"
        )
        or "a pod"
    )
