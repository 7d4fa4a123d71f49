"""`python -m benchmarks.launch`: from the command to the first training step, ours against the same
ranks started by hand.

By hand: one `ssh` per node with the rank's place in its environment, all at once, as a careful
operator would script it. Both train gpt2-micro-smoke on two nodes of the sandbox; the time is until
the first line of metrics. Then what a launch does before anything starts (preflight, staging) on
fifty nodes, and how long the code of a script takes to twenty nodes when one file of it changed.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SETTINGS = [
    "train.steps=20",
    "train.log.every=1",
    "train.checkpoint.every=0",
    "train.evaluate.batches=1",
]
GOAL_RATIO, GOAL_SECONDS, MANY = 1.10, 4.0, 50
GOAL_SYNC_SECONDS, SYNCED, FILES = 1.0, 20, 200
PATIENCE_SECONDS = 180.0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--strategy", default="ddp", help="ddp or deepspeed")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(Path(folder), asked.strategy)
        try:
            bench.invoke("sandbox.up", "--nodes", "2")
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
            print("| start | seconds to the first step | x by hand |\n| --- | --- | --- |")
            for name, times in rows.items():
                print(
                    f"| {name} | {statistics.median(times):.2f} |"
                    f" {statistics.median(times) / base:.2f} |"
                )
            ratio = statistics.median(rows["train.launch"]) / base
            print(
                f"\ngoal: at most {GOAL_RATIO}x by hand:"
                f" {'pass' if ratio <= GOAL_RATIO else 'missed'} ({ratio:.2f}x)"
            )
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
    def __init__(self, folder: Path, strategy: str) -> None:
        self.folder = folder
        self.settings = [*SETTINGS, f"train.strategy.name={strategy}"]
        self.environment = {**os.environ, "PLAYRUNNER_STATE_HOME": str(folder)}

    def invoke(self, *words: str) -> str:
        """What the command printed for a person."""
        return subprocess.run(
            [sys.executable, "-m", "invoke", *words],
            cwd=ROOT,
            env=self.environment,
            check=True,
            capture_output=True,
            text=True,
        ).stderr

    def ours(self, name: str, *more: str) -> float:
        words = [
            "train.launch",
            "--profile",
            "gpt2-micro-smoke",
            "--nodes",
            "2",
            "--name",
            name,
            *self._settings(),
            *more,
        ]
        metrics = self.folder / "sandbox" / "shared" / "runs" / name / "output" / "metrics.jsonl"
        began = time.perf_counter()
        process = subprocess.Popen(
            [sys.executable, "-m", "invoke", *words],
            cwd=ROOT,
            env=self.environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        return self._first_step(metrics, began, [process])

    def by_hand(self, name: str) -> float:
        record = json.loads((self.folder / "sandbox" / "nodes.json").read_text())
        output = self.folder / name
        nodes = list(record["nodes"].values())
        place = (
            f"WORLD_SIZE=2 LOCAL_WORLD_SIZE=1 LOCAL_RANK=0 MASTER_ADDR={nodes[0]['address']}"
            " MASTER_PORT=29400"
        )
        began = time.perf_counter()
        ranks = []
        for rank, node in enumerate(nodes):
            ssh = [
                "ssh",
                "-F",
                "none",
                "-i",
                record["key_file"],
                "-p",
                str(node["port"]),
                "-l",
                record["user"],
                "-o",
                f"UserKnownHostsFile={self.folder}/sandbox/known_hosts",
                node["address"],
            ]
            settings = " ".join(self._settings())
            # The same environment as a launch compiles: only the launching is compared.
            command = (
                f"cd {ROOT} && RANK={rank} {place} GLOO_SOCKET_IFNAME=lo OMP_NUM_THREADS=1"
                f" DS_ACCELERATOR=cpu RES_OPTIONS='timeout:1 attempts:2' exec {sys.executable} -m"
                f" trainer --profile gpt2-micro-smoke --output {output} {settings}"
            )
            ranks.append(
                subprocess.Popen(
                    [*ssh, command], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
                )
            )
        return self._first_step(output / "metrics.jsonl", began, ranks)

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
        self, metrics: Path, began: float, processes: list[subprocess.Popen[bytes]]
    ) -> float:
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
