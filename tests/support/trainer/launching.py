"""Training runs as real processes, and what they wrote."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.support.trainer.fork_server import Forked
from tests.support.until import until

ROOT = Path(__file__).resolve().parents[3]
_PATIENCE_SECONDS = 300  # a busy two-core machine imports for half a minute


@dataclass
class Ended:
    codes: list[int]
    text: str  # what all ranks printed

    @property
    def code(self) -> int:
        return max(map(abs, self.codes))


def launch(
    profile: str,
    output: Path,
    *settings: str,
    processes: int = 1,
    environment: dict[str, str] | None = None,
) -> Ended:
    """Run to the end."""
    return _ended(start(profile, output, *settings, processes=processes, environment=environment))


def launch_several(
    output: Path,
    runs: list[tuple[str, str, tuple[str, ...]]],
    processes: int,
    environment: dict[str, str] | None = None,
) -> Ended:
    """Run all (name, profile, settings) to the end one after another in the same processes, in
    folders of the output."""
    arguments = [str(output), json.dumps(runs)]
    several = "tests.support.trainer.several"
    return _ended(_started(several, arguments, processes, environment))


def launch_module(module: str, *arguments: str, processes: int = 1) -> Ended:
    """Run something else than the trainer to its end."""
    return _ended(_started(module, list(arguments), processes, None))


def start(
    profile: str,
    output: Path,
    *settings: str,
    processes: int = 1,
    environment: dict[str, str] | None = None,
) -> list[subprocess.Popen[str]]:
    arguments = ["--profile", profile, "--output", str(output)]
    for setting in settings:
        arguments += ["--set", setting]
    return _started("trainer", arguments, processes, environment)


def _started(
    module: str, arguments: list[str], processes: int, environment: dict[str, str] | None
) -> list[subprocess.Popen[str]]:
    shared = {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    if processes > 1:
        shared |= {
            "MASTER_ADDR": "127.0.0.1",
            "MASTER_PORT": str(_free_port()),
            "GLOO_SOCKET_IFNAME": "lo",
            "WORLD_SIZE": str(processes),
            "LOCAL_WORLD_SIZE": str(processes),
        }
    shared |= environment or {}
    environments = [shared]
    if processes > 1:
        local = int(shared["LOCAL_WORLD_SIZE"])
        environments = [
            {**shared, "RANK": str(rank), "LOCAL_RANK": str(rank % local)}
            for rank in range(processes)
        ]
    if environment is None:
        return [Forked(module, arguments, own) for own in environments]
    # What a test sets may be read while torch is imported.
    return [
        subprocess.Popen(
            [sys.executable, "-m", module, *arguments],
            cwd=ROOT,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env=own,
        )
        for own in environments
    ]


def _ended(started: list[subprocess.Popen[str]]) -> Ended:
    try:
        texts = [process.communicate(timeout=_PATIENCE_SECONDS)[0] for process in started]
    finally:
        for process in started:
            process.kill()  # one that hangs is a failure, not a leftover
    return Ended([process.returncode for process in started], "".join(texts))


def kill_after(
    processes: list[subprocess.Popen[str]], output: Path, checkpoint: int, seconds: float = 240
) -> None:
    """SIGKILL to all ranks, the moment the checkpoint's folder has its final name."""
    wanted = output / "checkpoints" / f"step-{checkpoint:08d}"
    until(wanted.exists, seconds=seconds, what=wanted.name, process=processes[0])
    for process in processes:
        process.send_signal(signal.SIGKILL)
    for process in processes:
        process.wait()


def wait_for_step(
    output: Path, step: int, process: subprocess.Popen[str], seconds: float = 120
) -> None:
    """Until a step is in the metrics."""
    until(
        lambda: (output / "metrics.jsonl").exists() and max(losses(output), default=0),
        lambda last: last >= step,
        seconds,
        what=f"step {step}",
        process=process,
    )


def records(output: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (output / "metrics.jsonl").read_text().splitlines()]


def losses(output: Path) -> dict[int, float]:
    return {each["step"]: each["loss"] for each in records(output) if "loss" in each}


def steps_saved(output: Path) -> list[int]:
    return sorted(
        int(path.name.removeprefix("step-")) for path in (output / "checkpoints").glob("step-*")
    )


def worst_difference(one: dict[int, float], other: dict[int, float]) -> float:
    assert one.keys() == other.keys(), (sorted(one), sorted(other))
    return max(abs(one[step] - other[step]) for step in one)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
