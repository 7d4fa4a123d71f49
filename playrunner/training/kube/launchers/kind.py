"""What every launcher has: its object's kind, how its template is filled, and how its status reads."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from playrunner.training.kube.job import ClusterJob

Thing = Mapping[str, Any]


@dataclass(frozen=True)
class Status:
    """A job in one word, with its own word for it and the reason it gives."""

    state: str  # pending | running | finished | failed | stopping | unknown
    phase: str = ""
    reason: str = ""


@dataclass(frozen=True)
class Kind:
    name: str
    resource: tuple[str, str]  # apiVersion and kind
    needs: str  # the command that brings the operator
    fill: Callable[
        [ClusterJob], dict[str, Any]
    ]  # the template's variables beside those that all have
    first_pod: Callable[[ClusterJob], str]  # the name by which the pod at which all meet is reached
    pods: Callable[[ClusterJob], list[str]]  # their names, as far as they are known beforehand
    read: Callable[[Thing], Status]
    replicas: tuple[
        str, ...
    ] = ()  # the path of the number that may be changed while it runs; empty where it may not


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
