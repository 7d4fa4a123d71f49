"""Turns of clouds and of the cluster: what is made while their APIs fail must come right, and go
without a trace."""

from __future__ import annotations

import json
import ssl
import threading
import urllib.request
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import psutil

from tests.soak.world import ENDINGS, Violation, World

FAULTS: tuple[dict[str, object], ...] = (
    {"kind": "throttle", "times": 5},
    {"kind": "error", "times": 3},
    {"kind": "reset", "times": 3},
    {"kind": "lost", "mutating": True, "times": 2},
    {"kind": "restart"},
)
LAG: dict[str, object] = {"kind": "lag"}  # reads that do not show what was just changed
LAG_SECONDS = 4.0
RESTART_SECONDS = (1.0, 6.0)  # after the command has begun


def aws(world: World) -> str:
    """A file system made and deleted while the pretend AWS fails; nothing may be left."""
    return _cloud(world, Service("aws", "playrunner.sandbox.aws.api.server"), "efs.create")


def google(world: World) -> str:
    """A cluster made and deleted while the pretend Google Cloud fails; nothing may be left."""
    service = Service("gcp", "playrunner.sandbox.gcp.server")
    return _cloud(world, service, "gke.create", "--extra-vars", "cloud=gcp")


def cluster(world: World) -> str:
    """An add-on of a cluster whose API fails; it is completed, then unchanged, then gone."""
    service = Service("kube", "playrunner.sandbox.kube.http.server")
    fault = world.rng.choice(FAULTS)
    made = _disturbed(world, service, fault, "jobset.create", "--inventory", "local", "--json")
    for expected in ("right", "unchanged"):
        ended = world.run("jobset.create", "--inventory", "local", "--json")
        if ended.code or (expected == "unchanged" and ended.total("changed")):
            raise Violation(f"jobset.create after {fault} is not {expected}: {ended.shown()}")
    ended = world.run("jobset.delete", "--inventory", "local", "--yes")
    if ended.code:
        raise Violation(f"jobset.delete after {fault}: {ended.shown()}")
    return f"cluster under {fault['kind']}: {made}, then right and deleted"


def _cloud(world: World, service: Service, verb: str, *words: str) -> str:
    fault = world.rng.choice((*FAULTS, LAG) if service.name == "aws" else FAULTS)
    made = _disturbed(world, service, fault, verb, "--inventory", "local", "--json", *words)
    ended = world.run("teardown", "--inventory", "local", "--yes", *words)
    if ended.code:
        raise Violation(f"teardown after {verb} under {fault}: {ended.shown()}")
    return f"{service.name} under {fault['kind']}: {made}, nothing is left"


def _disturbed(world: World, service: Service, fault: dict[str, object], *words: str) -> int:
    """How a command ended that met the fault."""
    service.up(world)
    disturb, undo = service.fault(world, fault)
    disturb()
    ended = world.run(*words)
    undo()
    if ended.code not in ENDINGS:
        raise Violation(f"{words[0]} under {fault}: {ended.shown()}")
    return ended.code


class Service:
    """A pretend API: brought up, disturbed, and killed and started again."""

    def __init__(self, name: str, module: str) -> None:
        self.name, self.module = name, module

    def up(self, world: World) -> None:
        started = world.run("sandbox.up", f"--{self.name}")
        if started.code:
            raise Violation(f"sandbox.up --{self.name}: {started.shown()}")

    def fault(
        self, world: World, fault: dict[str, object]
    ) -> tuple[Callable[[], None], Callable[[], None]]:
        """How it is disturbed before a command, and put right after it."""
        if fault["kind"] == "lag":
            return (
                lambda: self._control(world, "POST", "settings", {"lag": {"*": LAG_SECONDS}}),
                lambda: self._control(world, "POST", "settings", {"lag": {}}),
            )
        if fault["kind"] == "restart":
            wait = world.rng.uniform(*RESTART_SECONDS)
            timer = threading.Timer(wait, lambda: self._restart(world))
            return timer.start, timer.join
        return (
            lambda: self._control(world, "POST", "faults", fault),
            lambda: self._control(world, "DELETE", "faults"),
        )

    def _restart(self, world: World) -> None:
        """The API is gone for some seconds; what it held in memory is gone with it."""
        for process in world.servers():
            with suppress(psutil.Error):
                if self.module in process.cmdline():
                    process.kill()
        self.up(world)

    def _control(self, world: World, method: str, place: str, body: Any = None) -> None:
        record = json.loads((world.sandbox / f"{self.name}.json").read_text())
        header = (world.sandbox / self.name / "control-header").read_text().strip()
        name, _, value = header.partition(":")
        request = urllib.request.Request(
            f"{record.get('endpoint_url') or record['server']}/_sandbox/{place}",
            data=json.dumps(body).encode() if body else None,
            headers={name: value.strip(), "Content-Type": "application/json"},
            method=method,
        )
        authority = world.sandbox / self.name / "ca.crt"
        trusted = ssl.create_default_context(cafile=authority) if authority.exists() else None
        with urllib.request.urlopen(request, timeout=30, context=trusted):
            pass
