"""Turns of training: a run that is disturbed and resumed ends as one that nothing disturbed."""

from __future__ import annotations

import json
import signal
import subprocess
import threading
from collections.abc import Callable
from contextlib import suppress

import psutil

from tests.soak.faults import end
from tests.soak.world import Violation, World

STEPS = 60
ATTEMPTS = 4
SAME_LOSS = 1e-3  # sums of the same numbers in another order
LAUNCH = (
    "train.launch",
    "--profile",
    "gpt2-micro-smoke",
    "--nodes",
    "2",
    "--set",
    f"train.steps={STEPS}",
    "--set",
    "train.checkpoint.every=10",
    "--set",
    "train.log.every=1",
)
NO_RUN = 102


def _killed_rank(world: World, process: subprocess.Popen[str]) -> None:
    ranks = [each for each in world.node_processes() if _is_rank(each)]
    if ranks:
        with suppress(psutil.Error):
            world.rng.choice(ranks).kill()


FAULTS: dict[str, Callable[[World, subprocess.Popen[str]], None]] = {
    "a killed rank": _killed_rank,
    "SIGINT": lambda world, process: end(process, signal.SIGINT),
    "SIGTERM": lambda world, process: end(process, signal.SIGTERM),
    "SIGKILL": lambda world, process: end(process, signal.SIGKILL),
}


def training(world: World) -> str:
    """A run is disturbed at a moment of its own and resumed; it must end with the same loss as one
    that ran through, each step there once."""
    if world.loss is None:
        world.loss = _finished(world, "reference", "nothing", world.start(*_words("reference")))
    name, fault = f"train{world.turns}", world.rng.choice(tuple(FAULTS))
    process = world.start(*_words(name))
    timer = threading.Timer(world.rng.uniform(1, 14), lambda: FAULTS[fault](world, process))
    timer.start()
    loss = _finished(world, name, fault, process)
    timer.join()
    if abs(loss - world.loss) > SAME_LOSS:
        raise Violation(f"{name} under {fault} ended with loss {loss}, not {world.loss}")
    deleted = world.run("train.delete", "--name", name, "--yes")
    if deleted.code:
        raise Violation(f"train.delete of {name}: {deleted.shown()}")
    return f"training under {fault}: resumed, the same loss"


def _words(name: str) -> tuple[str, ...]:
    return (*LAUNCH, "--name", name)


def _finished(world: World, name: str, fault: str, process: subprocess.Popen[str]) -> float:
    """The loss of the last step, after as many resumes as are needed."""
    ended = world.finish(process)
    for _ in range(ATTEMPTS):
        state = world.run("train.status", "--name", name, "--json")
        run = json.loads(state.out)
        if state.code == NO_RUN:  # it was ended before anything was recorded
            ended = world.run(*_words(name))
            continue
        if run["state"] == "finished":
            return _whole(name, fault, run, world)
        world.run("train.stop", "--name", name)
        ended = world.run("train.resume", "--name", name)
    raise Violation(f"{name} under {fault} is not finished after {ATTEMPTS} tries: {ended.shown()}")


def _whole(name: str, fault: str, run: dict[str, object], world: World) -> float:
    metrics = world.sandbox / "shared" / "runs" / name / "output" / "metrics.jsonl"
    steps: dict[int, float] = {}
    for record in map(json.loads, metrics.read_text().splitlines()):
        if "loss" in record:  # not an evaluation
            steps[record["step"]] = record["loss"]
    if sorted(steps) != list(range(1, STEPS + 1)) or run["step"] != STEPS:
        raise Violation(f"{name} under {fault} has the steps {sorted(steps)}")
    return steps[STEPS]


def _is_rank(process: psutil.Process) -> bool:
    with suppress(psutil.Error):
        return "RANK" in process.environ()
    return False
