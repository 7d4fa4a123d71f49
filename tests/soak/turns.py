"""The turns of a soak: each does something under a fault, then without, and must come right."""

from __future__ import annotations

import json
import signal
import threading
import urllib.request
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import psutil

from tests.soak.faults import PLAY_FAULTS, disturbed_environment, end, put_right
from tests.soak.world import Violation, World

PLAY = """
- hosts: nodes
  tasks:
    - {name: folder, file: {path: "{{ scratch }}/soak", state: directory}}
    - name: files
      copy: {dest: "{{ scratch }}/soak/{{ item }}", content: "{{ item }} of ROUND"}
      loop: "{{ range(20) | list }}"
    - {name: payload, copy: {src: payload.bin, dest: "{{ scratch }}/soak/payload"}}
    - {name: pause, command: sleep 0.5, changed_when: false}
    - {name: meet, command: "true", run_once: true, changed_when: false}
    - {name: read, slurp: {src: "{{ scratch }}/soak/payload"}}
"""
SCRIPT = """
import os, time
for step in range(5):
    print("step", step, "of rank", os.environ["RANK"], flush=True)
    time.sleep(0.2)
"""
PAYLOAD_BYTES = 2 << 20
ENDINGS = (0, 2, 4, 130)  # done, failed, unreachable, interrupted
AWS_FAULTS: tuple[dict[str, object], ...] = (
    {"kind": "throttle", "times": 5},
    {"kind": "error", "times": 3},
    {"kind": "lost", "mutating": True, "times": 2},
    {"kind": "lag"},
    {"kind": "restart"},
)
LAG_SECONDS = 4.0


def play(world: World) -> str:
    """A play, disturbed; afterwards the same play must succeed, and again change nothing."""
    folder = world.folder / "play"
    folder.mkdir(exist_ok=True)
    (folder / "payload.bin").write_bytes(world.rng.randbytes(PAYLOAD_BYTES))
    book = folder / "play.yaml"
    book.write_text(PLAY.replace("ROUND", str(world.turns)))
    words = ("play", str(book), "--inventory", "local", "--json")
    fault = world.rng.choice(tuple(PLAY_FAULTS))
    process = world.start(*words, **disturbed_environment(world))
    timer = threading.Timer(world.rng.uniform(0.3, 4.0), lambda: PLAY_FAULTS[fault](world, process))
    timer.start()
    disturbed = world.finish(process)
    timer.join()
    if disturbed.code not in (*ENDINGS, -signal.SIGKILL):
        raise Violation(f"play under {fault} ended with {disturbed.code}: {disturbed.err[-800:]}")
    put_right(world)
    for expected in ("right", "unchanged"):
        ended = world.run(*words)
        if ended.code or (expected == "unchanged" and ended.total("changed")):
            raise Violation(
                f"play after {fault} is not {expected}: {ended.code}, {ended.out[-400:]}"
                f"{ended.err[-800:]}"
            )
    return f"play under {fault}: {disturbed.code}, then right"


def launch(world: World) -> str:
    """A script on two nodes, sometimes killed; it must end, and be stopped without a trace."""
    folder = world.folder / "script"
    folder.mkdir(exist_ok=True)
    (folder / "steps.py").write_text(SCRIPT)
    name = f"soak{world.turns}"
    words = ("train.launch", "--script", str(folder / "steps.py"), "--nodes", "2", "--name", name)
    process = world.start(*words)
    killed = world.rng.random() < 0.5
    if killed:
        timer = threading.Timer(world.rng.uniform(2, 15), lambda: end(process, signal.SIGKILL))
        timer.start()
    ended = world.finish(process)
    if killed:
        timer.join()
    stopped = world.run("train.stop", "--name", name)
    if not killed and ended.code:
        raise Violation(f"launch ended with {ended.code}: {ended.err[-800:]}")
    return f"launch: {ended.code}{', killed' if killed else ''}; stop: {stopped.code}"


def cloud(world: World) -> str:
    """A file system made and deleted while the pretend AWS fails; nothing may be left."""
    up = world.run("sandbox.up", "--aws")
    if up.code:
        raise Violation(f"sandbox.up --aws: {up.err[-800:]}")
    fault = world.rng.choice(AWS_FAULTS)
    disturb, undo = _cloud_fault(world, fault)
    disturb()
    made = world.run("efs.create", "--inventory", "local", "--json")
    undo()
    if made.code not in ENDINGS:
        raise Violation(f"efs.create under {fault}: {made.code}: {made.err[-800:]}")
    ended = world.run("teardown", "--inventory", "local", "--yes")
    if ended.code:
        raise Violation(f"teardown: {ended.code}: {(ended.out + ended.err)[-1500:]}")
    return f"cloud under {fault['kind']}: {made.code}, nothing is left"


TURNS: dict[Callable[[World], str], int] = {play: 8, cloud: 1, launch: 1}


def _cloud_fault(
    world: World, fault: dict[str, object]
) -> tuple[Callable[[], None], Callable[[], None]]:
    """How the cloud is disturbed before a command, and put right after it."""
    if fault["kind"] == "lag":
        return (
            lambda: _aws(world, "POST", "settings", {"lag": {"*": LAG_SECONDS}}),
            lambda: _aws(world, "POST", "settings", {"lag": {}}),
        )
    if fault["kind"] == "restart":
        timer = threading.Timer(world.rng.uniform(1, 6), lambda: _restart_aws(world))
        return timer.start, timer.join
    return lambda: _aws(world, "POST", "faults", fault), lambda: _aws(world, "DELETE", "faults")


def _restart_aws(world: World) -> None:
    """The API is gone for some seconds; what it held in memory is gone with it."""
    for process in world.servers():
        with suppress(psutil.Error):
            if "playrunner.sandbox.aws.api.server" in process.cmdline():
                process.kill()
    world.run("sandbox.up", "--aws")


def _aws(world: World, method: str, place: str, body: Any = None) -> None:
    record = json.loads((world.sandbox / "aws.json").read_text())
    header = (world.sandbox / "aws" / "control-header").read_text().strip()
    name, _, value = header.partition(":")
    request = urllib.request.Request(
        f"{record['endpoint_url']}/_sandbox/{place}",
        data=json.dumps(body).encode() if body else None,
        headers={name: value.strip(), "Content-Type": "application/json"},
        method=method,
    )
    with urllib.request.urlopen(request, timeout=30):
        pass
