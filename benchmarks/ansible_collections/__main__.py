"""python -m benchmarks.ansible_collections: 43 modules of six collections, 10 hosts, both tools."""

from __future__ import annotations

import argparse
import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks.ansible_collections.compare import differences
from benchmarks.runner.measure import Measured, measure
from benchmarks.runner.stage import Stage, stage_of

HERE = Path(__file__).parent
REPOSITORY = HERE.parents[1]
INSTALLED = REPOSITORY / ".bench" / "collections"
PLAY = HERE / "play.yaml"
COLLECTIONS = (
    "community.general", "ansible.posix", "community.crypto", "community.docker",
    "kubernetes.core", "amazon.aws", "community.library_inventory_filtering_v1",
)  # fmt: skip
HOSTS = 10
GOAL = 10.0  # times faster than ansible-playbook, on that many hosts
START_SECONDS = 60


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.ansible_collections", description=__doc__
    )
    parser.add_argument("--hosts", type=int, default=HOSTS)
    parser.add_argument("--collections", help="a folder with ansible_collections/, if there is one")
    given = parser.parse_args()
    folder = Path(given.collections) if given.collections else install()
    with stage_of(given.hosts) as stage, running_aws() as aws_url:
        hosts = stage.of_size(given.hosts)
        runs = {tool: run(tool, hosts, folder, aws_url) for tool in ("ours", "again", "ansible")}
    return show(runs, given.hosts)


def install() -> Path:
    """The six collections of the package `ansible`, without the rest of it."""
    if not (INSTALLED / "ansible_collections").is_dir():
        print(f"installing collections into {INSTALLED}", file=sys.stderr)
        INSTALLED.mkdir(parents=True, exist_ok=True)
        pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest"]
        wanted = ["--requirement", str(HERE / "requirements.txt")]
        subprocess.run([*pip, str(INSTALLED), *wanted], check=True)
        import zipfile

        (wheel,) = INSTALLED.glob("ansible-*.whl")
        prefixes = tuple(f"ansible_collections/{name.replace('.', '/')}/" for name in COLLECTIONS)
        with zipfile.ZipFile(wheel) as archive:
            members = [name for name in archive.namelist() if name.startswith(prefixes)]
            archive.extractall(INSTALLED, members)
        wheel.unlink()
    return INSTALLED


@contextmanager
def running_aws() -> Iterator[str]:
    """A pretend AWS for the modules of amazon.aws."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    program = f"from moto.server import main; main(['-p', '{port}'])"
    server = subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        ends = time.monotonic() + START_SECONDS
        while time.monotonic() < ends:
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.2)
        url = f"http://127.0.0.1:{port}"
        use_once(url)
        yield url
    finally:
        server.terminate()
        server.wait()


def use_once(url: str) -> None:
    """One call of each service: the server imports it then, and no tool should pay for that."""
    import boto3

    session = boto3.Session("test", "test", region_name="us-east-1")
    session.client("sts", endpoint_url=url).get_caller_identity()
    session.client("ec2", endpoint_url=url).describe_vpcs()
    session.client("iam", endpoint_url=url).list_users()
    session.client("s3", endpoint_url=url).list_buckets()


def run(tool: str, stage: Stage, folder: Path, aws_url: str) -> tuple[Measured, dict[str, Any]]:
    """One run from fresh hosts: what it took, and what every module returned on every host."""
    stage.reset()
    variables = {"aws_url": aws_url, "tool": tool, "ansible_python_interpreter": sys.executable}
    words = ["--extra-vars", json.dumps(variables)]
    if tool == "ansible":
        program = [str(Path(sys.executable).with_name("ansible-playbook")), str(PLAY), "-i"]
    else:
        program = [sys.executable, "-m", "playrunner", "play", str(PLAY), "--inventory"]
    environment = {
        **{name: value for name, value in os.environ.items() if not name.startswith("ANSIBLE_")},
        "ANSIBLE_COLLECTIONS_PATH": str(folder),
        "ANSIBLE_HOME": str(stage.folder / "ansible"),
        "ANSIBLE_CONFIG": str(stage.folder / "ansible.cfg"),
        "ANSIBLE_NOCOLOR": "1",
        "PLAYRUNNER_STATE_HOME": str(stage.folder / "state"),
    }
    taken = measure([*program, str(stage.inventory), *words], environment, REPOSITORY)
    print(f"{tool}: {taken.wall_seconds:.1f} s", file=sys.stderr, flush=True)
    results = {}
    for node in stage.nodes:
        file = node.scratch / "etc" / "results.json"
        results[node.name] = json.loads(file.read_text()) if file.exists() else {}
    if not all(results.values()):
        print(taken.output[-4000:], file=sys.stderr)
    return taken, results


def show(runs: dict[str, tuple[Measured, dict[str, Any]]], hosts: int) -> int:
    (ours, our_results), (again, _), (ansible, results) = runs.values()
    found = differences(results, our_results)
    compared = {name for host in results.values() for name in host}
    print(f"\n{len(compared)} modules of collections, {hosts} hosts\n")
    print("| | s | CPU s | x ours |\n|---|---:|---:|---:|")
    rows = (("ansible-core, defaults", ansible), ("ours", ours), ("ours, code on the hosts", again))
    for title, taken in rows:
        times = taken.wall_seconds / ours.wall_seconds
        print(f"| {title} | {taken.wall_seconds:.1f} | {taken.cpu_seconds:.1f} | {times:.1f} |")
    equal = compared - {name for name, _ in found}
    print(f"\nequal results: {len(equal)} of {len(compared)}")
    for name, text in found[:40]:
        print(f"  {name}: {text}")
    factor = ansible.wall_seconds / ours.wall_seconds
    if hosts >= HOSTS:
        verdict = "pass" if factor >= GOAL else "miss"
        print(f"goal: {GOAL:g}x faster on ten hosts: {verdict} ({factor:.1f}x)")
    return 1 if found or not compared else 0


if __name__ == "__main__":
    sys.exit(main())
