"""Runs one case with ansible-playbook or Playrunner and tells what it counted and left behind."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from . import ansible
from .case import Case
from .nodes import NAMES, Nodes, running_nodes
from .tree import read_tree
from .web import running_web

REPOSITORY = Path(__file__).parents[2]
COUNTS = ("ok", "changed", "unreachable", "failed", "skipped", "rescued", "ignored")
LIMIT_SECONDS = 900

ANSIBLE_CFG = """\
[defaults]
forks = 5
host_key_checking = True
localhost_warning = False
inventory_unparsed_warning = False
interpreter_python = auto_silent
retry_files_enabled = False
nocows = True
[ssh_connection]
pipelining = True
ssh_args = -o ControlMaster=auto -o ControlPersist=20s -o KexAlgorithms=curve25519-sha256
"""

# The same beside a case's own ansible.cfg: what its settings leave open, as variables
ANSIBLE_VARIABLES = {
    "ANSIBLE_LOCALHOST_WARNING": "no",
    "ANSIBLE_INVENTORY_UNPARSED_WARNING": "no",
    "ANSIBLE_PIPELINING": "yes",
    "ANSIBLE_SSH_ARGS": (
        "-o ControlMaster=auto -o ControlPersist=20s -o KexAlgorithms=curve25519-sha256"
    ),
}


@dataclass(frozen=True)
class Stage:
    """What every run shares: the hosts, the web server, and a folder for what the runs leave."""

    nodes: Nodes
    http_url: str
    folder: Path


@dataclass(frozen=True)
class Outcome:
    """What one run of a case came to."""

    succeeded: bool
    recap: dict[str, dict[str, int]]
    tree: dict[str, list[str]]
    output: str = ""

    def recorded(self) -> dict[str, Any]:
        return {"succeeded": self.succeeded, "recap": self.recap, "tree": self.tree}


@contextmanager
def open_stage(folder: Path) -> Iterator[Stage]:
    with running_nodes(folder / "nodes") as nodes, running_web() as http_url:
        yield Stage(nodes, http_url, folder)


def run_with_ansible(case: Case, stage: Stage) -> dict[str, Outcome]:
    return _run_all(case, stage, "ansible", _ansible)


def run_with_playrunner(case: Case, stage: Stage) -> dict[str, Outcome]:
    return _run_all(case, stage, "ours", _playrunner)


def _run_all(case: Case, stage: Stage, who: str, program: Any) -> dict[str, Outcome]:
    home = stage.folder / case.name / who
    shutil.rmtree(home, ignore_errors=True)
    outcomes = {}
    for run in case.runs:
        scratch_root = home / ("untouched" if run == "check" else "scratch")
        for name in NAMES:
            _prepare_scratch(case, scratch_root / name)
        inventory = _write_inventory(case, stage, home / f"inventory-{run}", scratch_root)
        words = [*case.options(), *(["--check"] if run == "check" else [])]
        returncode, recap, output = program(case, home, inventory, words)
        names = {
            str(scratch_root): "<scratch>",
            str(case.folder): "<case>",
            stage.http_url: "<http>",
            str(inventory.parent if inventory.is_file() else inventory): "<inventory>",
        }
        outcomes[run] = Outcome(
            returncode == 0, recap, read_tree(scratch_root, names, case.uncompared), output
        )
    return outcomes


def _prepare_scratch(case: Case, scratch: Path) -> None:
    """The folder a host's effects go to, made once; the case's seed/ is what is already there."""
    if scratch.exists():
        return
    seed = case.folder / "seed"
    if not seed.is_dir():
        scratch.mkdir(parents=True)
        return
    shutil.copytree(seed, scratch, symlinks=True)
    for path in [scratch, *scratch.rglob("*")]:
        # A checkout's modes depend on its owner's umask; the outcome must not.
        if not path.is_symlink():
            path.chmod(0o755 if path.is_dir() or path.stat().st_mode & 0o100 else 0o644)


def _write_inventory(case: Case, stage: Stage, folder: Path, scratch_root: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    hosts = {
        name: {**stage.nodes.connection_vars(name), "scratch": str(scratch_root / name)}
        for name in NAMES
    }
    nodes = {"hosts": hosts, "vars": {"http_url": stage.http_url}}
    (folder / "hosts.yaml").write_text(yaml.safe_dump({"all": {"children": {"nodes": nodes}}}))
    own = case.folder / "inventory"
    if not own.is_dir():
        return folder / "hosts.yaml"
    shutil.copytree(own, folder, dirs_exist_ok=True)
    return folder


def _ansible(
    case: Case, home: Path, inventory: Path, words: list[str]
) -> tuple[int, dict[str, dict[str, int]], str]:
    (home / "ansible.cfg").write_text(ANSIBLE_CFG)
    settings = (
        ANSIBLE_VARIABLES if case.has_config else {"ANSIBLE_CONFIG": str(home / "ansible.cfg")}
    )
    named = [] if "ANSIBLE_INVENTORY" in case.environment else ["-i", str(inventory)]
    done = _run(
        [str(ansible.program()), "play.yaml", *named, *words],
        case.folder,
        {**settings, "ANSIBLE_NOCOLOR": "1", **_environment(case, inventory)},
    )
    return done.returncode, _parse_recap(done.stdout), done.stdout + done.stderr


def _parse_recap(output: str) -> dict[str, dict[str, int]]:
    recap = {}
    for line in output.partition("PLAY RECAP")[2].splitlines():
        if found := re.match(r"(\S+)\s+: (ok=.*)", line):
            counts = dict(pair.split("=") for pair in found[2].split())
            recap[found[1]] = {name: int(counts[name]) for name in COUNTS}
    return _without_idle(recap)


def _without_idle(recap: dict[str, dict[str, int]]) -> dict[str, dict[str, int]]:
    """Only hosts that something happened on: a line of zeros for an idle one says nothing."""
    return {host: counts for host, counts in recap.items() if any(counts.values())}


def _playrunner(
    case: Case, home: Path, inventory: Path, words: list[str]
) -> tuple[int, dict[str, dict[str, int]], str]:
    named = [] if "ANSIBLE_INVENTORY" in case.environment else ["--inventory", str(inventory)]
    program, folder, playbook = "invoke", REPOSITORY, str(case.playbook)
    if case.has_config:
        program, folder, playbook = "playrunner", case.folder, case.playbook.name
    done = _run(
        [sys.executable, "-m", program, "play", playbook, *named, *words, "--json"],
        folder,
        {
            "XDG_STATE_HOME": str(home / "state"),
            "NO_COLOR": "1",
            "PYTHONPATH": str(REPOSITORY),
            **_environment(case, inventory),
        },
    )
    try:
        said = json.loads(done.stdout)
    except ValueError:
        return done.returncode, {}, done.stdout + done.stderr
    recap, output = said.get("recap", {}), _failures(said) + done.stderr
    if "--check" in words:
        recap = {host: _unknown_as_skipped(counts) for host, counts in recap.items()}
    counted = {host: {name: counts[name] for name in COUNTS} for host, counts in recap.items()}
    return done.returncode, _without_idle(counted), output


def _environment(case: Case, inventory: Path) -> dict[str, str]:
    return {
        name: value.replace("{inventory}", str(inventory))
        for name, value in case.environment.items()
    }


def _failures(said: dict[str, Any]) -> str:
    """What to read when a run came out wrong: the failed steps and their messages."""
    return "".join(
        f"{result['host']}: {result['step']} ({result['status']}):"
        f" {result.get('values', {}).get('msg', '')}\n"
        for result in said.get("results", [])
        if result["status"] in ("failed", "unreachable")
    )


def _unknown_as_skipped(counts: dict[str, int]) -> dict[str, int]:
    """A command under --check: Ansible counts it as skipped, Playrunner as unknown
    (docs/ansible-differences.md)."""
    return {**counts, "skipped": counts["skipped"] + counts.get("unknown", 0)}


def _run(
    command: list[str], folder: Path, environment: dict[str, str]
) -> subprocess.CompletedProcess[str]:
    # LC_ALL: messages and sorting must not depend on who runs the tests; the umask decides modes of
    # new files.
    return subprocess.run(
        command,
        cwd=folder,
        env={**os.environ, "LC_ALL": "C.UTF-8", **environment},
        umask=0o022,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=LIMIT_SECONDS,
        check=False,
    )
