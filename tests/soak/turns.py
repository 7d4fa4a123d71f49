"""The turns of a soak: each does something under a fault, then without, and must come right."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import threading
import urllib.request
from collections.abc import Callable
from contextlib import suppress

import psutil

from playrunner.sandbox import nodes as sandbox_nodes
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
AWS_FAULTS = (
    {"kind": "throttle", "times": 5},
    {"kind": "error", "times": 3},
    {"kind": "lost", "mutating": True, "times": 2},
)


def play(world: World) -> str:
    """A play, disturbed; afterwards the same play must succeed, and again change nothing."""
    folder = world.folder / "play"
    folder.mkdir(exist_ok=True)
    (folder / "payload.bin").write_bytes(world.rng.randbytes(PAYLOAD_BYTES))
    book = folder / "play.yaml"
    book.write_text(PLAY.replace("ROUND", str(world.turns)))
    words = ("play", str(book), "--inventory", "local", "--json")
    fault = world.rng.choice(tuple(PLAY_FAULTS))
    process = world.start(*words)
    timer = threading.Timer(world.rng.uniform(0.3, 4.0), lambda: PLAY_FAULTS[fault](world, process))
    timer.start()
    disturbed = world.finish(process)
    timer.join()
    if disturbed.code not in (*ENDINGS, -signal.SIGKILL):
        raise Violation(f"play under {fault} ended with {disturbed.code}: {disturbed.err[-800:]}")
    sandbox_nodes.up(world.sandbox, 2)
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
        timer = threading.Timer(world.rng.uniform(2, 15), lambda: _end(process, signal.SIGKILL))
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
    _aws_faults(world, fault)
    made = world.run("efs.create", "--inventory", "local", "--json")
    _aws_faults(world, None)
    if made.code not in ENDINGS:
        raise Violation(f"efs.create under {fault}: {made.code}: {made.err[-800:]}")
    ended = world.run("teardown", "--inventory", "local", "--yes")
    if ended.code:
        raise Violation(f"teardown: {ended.code}: {(ended.out + ended.err)[-1500:]}")
    return f"cloud under {fault['kind']}: {made.code}, nothing is left"


TURNS: dict[Callable[[World], str], int] = {play: 8, cloud: 1, launch: 1}


def _nothing(world: World, process: subprocess.Popen[str]) -> None:
    pass


def _end(process: subprocess.Popen[str], number: int) -> None:
    with suppress(ProcessLookupError):
        process.send_signal(number)


def _killed_agent(world: World, process: subprocess.Popen[str]) -> None:
    victims = [each for each in world.node_processes() if "python" in _name(each)]
    if victims:
        with suppress(psutil.Error):
            world.rng.choice(victims).kill()


def _lost_node(world: World, process: subprocess.Popen[str]) -> None:
    sandbox_nodes.stop(world.sandbox, [world.rng.choice(world.nodes())])


def _ended_holder(world: World, process: subprocess.Popen[str]) -> None:
    """The process that keeps connections open dies under the play."""
    for each in psutil.process_iter():
        with suppress(psutil.Error):
            words = each.cmdline()
            if "playrunner.ssh.kept.holder" in words and str(world.folder) in words[-1]:
                os.kill(each.pid, signal.SIGKILL)


PLAY_FAULTS: dict[str, Callable[[World, subprocess.Popen[str]], None]] = {
    "nothing": _nothing,
    "a killed agent": _killed_agent,
    "a lost node": _lost_node,
    "a killed holder of connections": _ended_holder,
    "SIGTERM": lambda world, process: _end(process, signal.SIGTERM),
    "SIGKILL": lambda world, process: _end(process, signal.SIGKILL),
}


def _name(process: psutil.Process) -> str:
    with suppress(psutil.Error):
        return str(process.name())
    return ""


def _aws_faults(world: World, fault: dict[str, object] | None) -> None:
    record = json.loads((world.sandbox / "aws.json").read_text())
    header = (world.sandbox / "aws" / "control-header").read_text().strip()
    name, _, value = header.partition(":")
    request = urllib.request.Request(
        f"{record['endpoint_url']}/_sandbox/faults",
        data=json.dumps(fault).encode() if fault else None,
        headers={name: value.strip(), "Content-Type": "application/json"},
        method="POST" if fault else "DELETE",
    )
    with urllib.request.urlopen(request, timeout=30):
        pass
