"""`python -m benchmarks.fleet.large_files`: a large file to many real SSH servers, beside scp."""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from benchmarks.runner.measure import measure
from benchmarks.runner.stage import Stage, stage_of
from benchmarks.runner.tools import REPOSITORY
from playrunner.sandbox import node_inventory, sshd

MIB = 1 << 20
# Each host deletes its copy, so that no more of them exist than hosts are worked on at a time
PLAY = """
- hosts: all
  gather_facts: false
  tasks:
    - {name: copy, copy: {src: large.bin, dest: "{{ scratch }}/large.bin"}}
    - {name: agent, shell: "grep VmHWM /proc/$PPID/status", changed_when: false}
    - {name: delete, file: {path: "{{ scratch }}/large.bin", state: absent}}
"""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--hosts", type=int, default=50)
    parser.add_argument("--mib", type=int, default=1024)
    parser.add_argument("--forks", type=int, default=8, help="hosts worked on at a time")
    asked = parser.parse_args()
    with stage_of(asked.hosts) as stage:
        stage.write()
        source = stage.folder / "large.bin"
        with source.open("wb") as file:
            for _ in range(asked.mib):
                file.write(os.urandom(MIB))
        print(
            f"{asked.mib} MiB to {asked.hosts} hosts, {asked.forks} at a time; {os.cpu_count()}"
            f" cores that the hosts share, load {os.getloadavg()[0]:.1f} before\n"
        )
        print("| | s | MiB/s | controller CPU s | CPU s/GiB | controller MiB | agent MiB |")
        print("|" + "---|" * 7, flush=True)
        total = asked.hosts * asked.mib
        _row("scp", total, *_by_scp(stage, source, asked.forks))
        _row("playrunner", total, *_by_play(stage, asked.forks))
    return 0


def _row(name: str, mib: int, wall: float, cpu: float, peak: float, agent: float) -> None:
    cells = [
        name,
        f"{wall:.1f}",
        f"{mib / wall:.0f}",
        f"{cpu:.1f}",
        f"{1024 * cpu / mib:.2f}",
        f"{peak:.0f}" if peak else "",
        f"{agent:.0f}" if agent else "",
    ]
    print("| " + " | ".join(cells) + " |", flush=True)


def _by_scp(stage: Stage, source: Path, forks: int) -> tuple[float, float, float, float]:
    options = [
        *("-q", "-F", "none", "-i", str(node_inventory.key_file(stage.root))),
        *("-o", f"UserKnownHostsFile={node_inventory.known_hosts_file(stage.root)}"),
    ]

    def copy(node: node_inventory.Node) -> None:
        target = node.scratch / "large.bin"
        to = f"{sshd.login_name()}@{node.address}:{target}"
        subprocess.run(["scp", *options, "-P", str(node.port), str(source), to], check=True)
        target.unlink()

    began, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
    with ThreadPoolExecutor(forks) as pool:
        list(pool.map(copy, stage.nodes))
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = used.ru_utime + used.ru_stime - before.ru_utime - before.ru_stime
    return time.perf_counter() - began, cpu, 0.0, 0.0


def _by_play(stage: Stage, forks: int) -> tuple[float, float, float, float]:
    play = stage.folder / "play.yaml"
    play.write_text(PLAY)
    words = ["play", str(play), "--inventory", str(stage.inventory), "--forks", str(forks)]
    ran = measure(
        [str(Path(sys.executable).with_name("invoke")), *words, "--json"],
        {**os.environ, "PLAYRUNNER_STATE_HOME": str(stage.folder / "state")},
        REPOSITORY,
    )
    if ran.code:
        raise SystemExit(ran.output[-2000:])
    peaks = [
        int(result["values"]["stdout"].split()[1]) / 1024
        for result in json.loads(ran.output)["results"]
        if result["step"] == "agent"
    ]
    return ran.wall_seconds, ran.cpu_seconds, ran.peak_mib, max(peaks)


if __name__ == "__main__":
    sys.exit(main())
