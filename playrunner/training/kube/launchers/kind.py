"""What every launcher has: its object's kind, how its template is filled, and how its status
reads."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from playrunner.frozen import frozen
from playrunner.training.kube.job_spec.job import ClusterJob

Thing = Mapping[str, Any]


@frozen
class Status:
    """A job in one word, with its own word for it and the reason it gives."""

    state: str  # pending | running | finished | failed | stopping | unknown
    phase: str = ""
    reason: str = ""


@frozen
class Kind:
    name: str
    resource: tuple[str, str]  # apiVersion and kind
    needs: str  # the command that installs its operator
    # The template's variables beside those that all have
    fill: Callable[[ClusterJob], dict[str, Any]]
    first_pod: Callable[[ClusterJob], str]  # the name at which all pods meet
    pods: Callable[[ClusterJob], list[str]]  # their names, as far as they are known beforehand
    read: Callable[[Thing], Status]
    # The path of the number of pods, where it may change during the run: such a job can be elastic
    replicas: tuple[str, ...] = ()
    template: str = ""  # of manifests/training, where it is not the launcher's name
    headless: bool = False  # its pods find one another through a headless Service
    over_ssh: bool = False  # its first pod starts the ranks on the others over SSH
    gang: bool = False  # all pods or none, in a queue
    gang_by_operator: bool = False  # only where the inventory and its operator name Volcano
    queued: bool = False  # Kueue can hold it back until there is room for all its pods
    controller: tuple[str, str] = ("kube-system", "")  # namespace and role of its operator
    also: tuple[str, ...] = ()  # roles that its operator stands on

    @property
    def manifest(self) -> str:
        return f"training/{self.template or self.name}.yaml.j2"


def latest_condition(thing: Thing) -> Thing:
    """The newest condition that holds, as the operators print it."""
    held = [
        one
        for one in (thing.get("status") or {}).get("conditions") or ()
        if str(one.get("status")) == "True"
    ]
    return held[-1] if held else {}


def from_conditions(thing: Thing) -> Status:
    """For operators whose conditions are Created, Running, Restarting, Succeeded, Failed."""
    newest = latest_condition(thing)
    phase = str(newest.get("type") or "")
    state = {
        "Succeeded": "finished",
        "Failed": "failed",
        "Running": "running",
        "Restarting": "running",
    }.get(phase, "pending")
    why = str(newest.get("message") or newest.get("reason") or "")
    return Status(state, phase or "Created", why if state == "failed" else "")
