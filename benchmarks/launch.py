"""`python -m benchmarks.launch`: from the command to the first training step, ours against the same
ranks started by hand.

By hand: one `ssh` per node with the command that a launch starts there (the rank, or DeepSpeed's or
torchrun's launcher of it) and its environment, all at once, as a careful operator would script it.
Both train the profile on nodes of the sandbox; the time is until the first line of metrics, after
one start that is not counted. Then what a launch does before anything starts (preflight, staging)
on fifty nodes, and how long the code of a script takes to twenty nodes when one file of it changed.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shlex
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
SHORT = [  # what has a run end soon after its first step
    "train.steps=20",
    "train.log.every=1",
    "train.checkpoint.every=0",
    "train.evaluate.batches=1",
]
GOAL_RATIO, GOAL_SECONDS, MANY = 1.10, 4.0, 50
GOAL_SYNC_SECONDS, SYNCED, FILES = 1.0, 20, 200
PATIENCE_SECONDS = 180.0
REFERENCE = "reference"  # the launch whose commands are run by hand


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--profile", default="gpt2-micro-smoke")
    parser.add_argument("--nodes", type=int, default=2)
    parser.add_argument("--set", action="append", default=[], help="a setting, as train.launch's")
    parser.add_argument("--first-step-only", action="store_true")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(Path(folder), asked.profile, asked.nodes, asked.set)
        try:
            bench.invoke("sandbox.up", "--nodes", str(asked.nodes))
            bench.by_hand("not-counted")
            rows: dict[str, list[float]] = {
                "by hand, over ssh": [],
                "train.launch": [],
                "train.launch --no-gate": [],
            }
            for number in range(asked.repeat):
                rows["by hand, over ssh"].append(bench.by_hand(f"hand-{number}"))
                rows["train.launch"].append(bench.ours(f"ours-{number}"))
                rows["train.launch --no-gate"].append(bench.ours(f"bare-{number}", "--no-gate"))
            base = statistics.median(rows["by hand, over ssh"])
            print(
                "| start | seconds to the first step | x by hand | the least | x by hand |\n"
                "| --- | --- | --- | --- | --- |"
            )
            for name, times in rows.items():
                print(
                    f"| {name} | {statistics.median(times):.2f} |"
                    f" {statistics.median(times) / base:.2f} | {min(times):.2f} |"
                    f" {min(times) / min(rows['by hand, over ssh']):.2f} |"
                )
            ratio = statistics.median(rows["train.launch"]) / base
            print(
                f"\ngoal: at most {GOAL_RATIO}x by hand:"
                f" {'pass' if ratio <= GOAL_RATIO else 'missed'} ({ratio:.2f}x)"
            )
            if asked.first_step_only:
                return 0
            seconds = bench.many()
            print(
                f"goal: preflight and staging on {MANY} nodes in at most {GOAL_SECONDS:g} s:"
                f" {'pass' if seconds <= GOAL_SECONDS else 'missed'} ({seconds:.2f} s)"
            )
            seconds = bench.one_changed_file()
            print(
                f"goal: one changed file of {FILES} on {SYNCED} nodes in at most"
                f" {GOAL_SYNC_SECONDS:g} s: {'pass' if seconds <= GOAL_SYNC_SECONDS else 'missed'}"
                f" ({seconds:.2f} s)"
            )
        finally:
            bench.invoke("sandbox.down", "--yes")
    return 0


class Bench:
    def __init__(self, folder: Path, profile: str, nodes: int, settings: Sequence[str]) -> None:
        self.folder, self.profile, self.nodes = folder, profile, str(nodes)
        self.settings = [*SHORT, *settings]
        self.environment = {**os.environ, "PLAYRUNNER_STATE_HOME": str(folder)}

    def invoke(self, *words: str) -> str:
        """What the command printed for a person."""
        return self._done(*words).stderr

    @cached_property
    def commands(self) -> list[dict[str, Any]]:
        """What a launch starts on each node, without its network check: only launching is
        compared."""
        self.invoke(*self._launch(REFERENCE, "--no-gate"))
        run = self._run(REFERENCE)
        started = [run / "nodes" / f"node{number + 1}" for number in range(int(self.nodes))]
        environment = json.loads((started[0] / "environment.json").read_text())
        orders = [json.loads((node / "start.json").read_text())["commands"] for node in started]
        return [
            {**command, "environment": {**environment, **command["environment"]}}
            for (command,) in orders
        ]

    def _done(self, *words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "invoke", *words],
            cwd=ROOT,
            env=self.environment,
            check=True,
            capture_output=True,
            text=True,
        )

    def ours(self, name: str, *more: str) -> float:
        began = time.perf_counter()
        process = subprocess.Popen(
            [sys.executable, "-m", "invoke", *self._launch(name, *more)],
            cwd=ROOT,
            env=self.environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        return self._first_step(self._run(name) / "output", began, [process])

    def by_hand(self, name: str) -> float:
        record = json.loads((self.folder / "sandbox" / "nodes.json").read_text())
        output = self.folder / name
        commands = [self._elsewhere(command, output) for command in self.commands]
        began = time.perf_counter()
        ranks = []
        for node, command in zip(record["nodes"].values(), commands, strict=True):
            login = [
                *("ssh", "-F", "none", "-i", record["key_file"]),
                *("-p", str(node["port"]), "-l", record["user"]),
                *("-o", f"UserKnownHostsFile={self.folder}/sandbox/known_hosts", node["address"]),
            ]
            ranks.append(
                subprocess.Popen(
                    [*login, command], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
                )
            )
        return self._first_step(output, began, ranks)

    def _elsewhere(self, command: dict[str, Any], output: Path) -> str:
        """The command for a shell, with another folder for its output."""
        variables = (f"{name}={value}" for name, value in command["environment"].items())
        there = f"{self._run(REFERENCE)}/output"
        words = (str(output) if word == there else word for word in command["argv"])
        return shlex.join(["exec", "env", *variables, *words])

    def _run(self, name: str) -> Path:
        return self.folder / "sandbox" / "shared" / "runs" / name

    def _launch(self, name: str, *more: str) -> list[str]:
        asked = ["--profile", self.profile, "--nodes", self.nodes, "--name", name]
        return ["train.launch", *asked, *self._settings(), *more]

    def many(self) -> float:
        """Preflight and staging alone, on nodes that have nothing yet."""
        self.invoke("sandbox.up", "--nodes", str(MANY))
        shutil.rmtree(self.folder / "sandbox" / "shared", ignore_errors=True)
        began = time.perf_counter()
        self.invoke(
            "train.launch",
            "--profile",
            "gpt2-micro-smoke",
            "--nodes",
            str(MANY),
            "--stage-only",
            "--name",
            "many",
            "--set",
            f"train.batch_size={MANY}",
            "--set",
            "train.device_batch_size=1",
        )
        return time.perf_counter() - began

    def one_changed_file(self) -> float:
        """The phase in which code is synced, as the launch itself says it, in the second launch of
        a script."""
        project = self.folder / "project"
        project.mkdir()
        for number in range(FILES):
            (project / f"part{number}.py").write_text(f"VALUE = {number}\n" * 50)
        script = project / "train.py"
        for text in ("print(1)\n", "print(2)\n"):
            script.write_text(text)
            printed = self.invoke(
                "train.launch",
                *("--script", str(script), "--nodes", str(SYNCED), "--launcher", "direct"),
                *("--no-gate", "--stage-only", "--name", "synced"),
            )
        synced = re.search(r"code synced.*\((\d+\.\d+) s\)", printed)
        if not synced:
            raise SystemExit(f"no code was synced: {printed}")
        return float(synced[1])

    def _settings(self) -> list[str]:
        return [word for setting in self.settings for word in ("--set", setting)]

    def _first_step(
        self, output: Path, began: float, processes: list[subprocess.Popen[bytes]]
    ) -> float:
        metrics = output / "metrics.jsonl"
        while not (metrics.exists() and metrics.stat().st_size):
            if time.perf_counter() - began > PATIENCE_SECONDS or all(
                each.poll() is not None for each in processes
            ):
                raise SystemExit(f"no first step: {metrics}")
            time.sleep(0.01)
        seconds = time.perf_counter() - began
        for process in processes:
            process.wait(PATIENCE_SECONDS)
        return seconds


if __name__ == "__main__":
    sys.exit(main())
