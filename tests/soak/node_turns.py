"""Turns on nodes: plays and scripts under a fault, which must come right without it."""

from __future__ import annotations

import signal
import threading

from tests.soak.faults import PLAY_FAULTS, disturbed_environment, end, put_right
from tests.soak.world import ENDINGS, Violation, World

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
    # Where the fault came before the play had begun
    early = disturbed.code == -signal.SIGTERM and not disturbed.out + disturbed.err
    refused = disturbed.code == 5 and "the run cannot be recorded" in disturbed.err
    is_known = early or (refused and fault == "a full disk of records")
    if disturbed.code not in (*ENDINGS, -signal.SIGKILL) and not is_known:
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
