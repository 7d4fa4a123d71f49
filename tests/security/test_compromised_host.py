"""Hosts whose Python is not Python: it speaks the agent's protocol and lies. It harms no other host
and not the controller."""

from __future__ import annotations

import hashlib
import json
import os
import secrets
import shutil
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support.runner import Outcome, Stage
from tests.support.security import liar
from tests.support.sshd import NodeSet

SILENT = {"silence", "half-a-line", "half-a-body"}
QUIET = {*SILENT, "goes-on-after-its-timeout"}  # these are found by waiting
# Things a host may truly say, though no honest one would: its own step fails, and nothing else
# happens.
POSSIBLE = {
    "surrogates",
    "long-message",
    "long-exception",
    "results-of-a-loop",
    "includes",
    "registers-nothing",
}
PLAYBOOK = """
- hosts: all
  gather_facts: false
  tasks:
    - {{name: first, command: echo one, register: first, timeout: 5}}
    - {{name: file, copy: {{src: {file}, dest: "{{{{ scratch }}}}/copied"}}, diff: true}}
    - {{name: items, ping: , loop: [1, 2, 3], register: items}}
    - {{name: fetched, fetch: {{src: "{{{{ scratch }}}}/copied", dest: "{fetched}/"}}}}
    - {{name: last, command: "echo {{{{ first.stdout }}}} {{{{ items.results | length }}}}"}}
"""


@dataclass(frozen=True)
class Run:
    """One play over a good host and compromised ones."""

    outcome: Outcome
    seconds: float
    canary: tuple[str, str]  # the controller's files before and after
    left_over: list[str]  # processes of the controller that outlived it
    scratch: Path

    def results(self, host: str) -> list[dict[str, Any]]:
        return [found for found in self.outcome.data["results"] if found["host"] == host]


def run_beside(
    lies: set[str], folder: Path, nodes: NodeSet, as_json: bool = True, **environment: str
) -> Run:
    canary = folder / "canary"
    canary.mkdir()
    (canary / "key").write_text("a file of the controller")
    (folder / "file").write_bytes(os.urandom(100_000))
    inventory = nodes.inventory(folder, hosts=["node1"])
    listed = yaml.safe_load(inventory.read_text())
    hosts = listed["nodes"]["hosts"]
    hosts["node1"]["scratch"] = str(folder)
    for lie in lies:
        program = folder / lie
        shutil.copy(liar.__file__, program)
        program.chmod(0o755)
        hosts[f"host-{lie}"] = {**hosts["node1"], "ansible_python_interpreter": str(program)}
    inventory.write_text(yaml.safe_dump(listed))
    token = secrets.token_hex(8)
    before, started = _digest(canary), time.monotonic()
    playbook = PLAYBOOK.format(file=folder / "file", fetched=folder / "fetched")
    outcome = Stage(folder, inventory).play(
        playbook, "--forks", "8", "--diff", as_json=as_json, COMPROMISED_RUN=token, **environment
    )
    return Run(
        outcome,
        time.monotonic() - started,
        (before, _digest(canary)),
        _processes_with(token),
        folder,
    )


def _digest(folder: Path) -> str:
    return hashlib.sha256(
        repr(
            [
                (str(path), path.stat().st_mode, path.read_bytes() if path.is_file() else b"")
                for path in sorted(folder.rglob("*"))
            ]
        ).encode()
    ).hexdigest()


def _processes_with(token: str) -> list[str]:
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if token.encode() in (process / "environ").read_bytes():
                found.append((process / "cmdline").read_text())
        except OSError:
            continue  # it has just ended, or is another user's
    return found


@pytest.fixture(scope="module")
def liars(tmp_path_factory: pytest.TempPathFactory, nodes: NodeSet) -> Run:
    return run_beside(
        set(liar.LIES) - QUIET,
        tmp_path_factory.mktemp("liars"),
        nodes,
        PLAYRUNNER_SHOWN_MB="0.1",
        PLAYRUNNER_REPLY_MB="8",
    )


@pytest.fixture(scope="module")
def silent(tmp_path_factory: pytest.TempPathFactory, nodes: NodeSet) -> Run:
    return run_beside(
        QUIET, tmp_path_factory.mktemp("silent"), nodes, PLAYRUNNER_SILENT_SECONDS="6"
    )


def check_the_rest(run: Run) -> None:
    """The good host has done everything, and the controller is as it was."""
    assert run.outcome.code in (2, 4), run.outcome.text
    counts = run.outcome.counts("node1")
    assert counts["ok"] == 5 and counts["failed"] == counts["unreachable"] == 0, run.outcome.text
    assert (run.scratch / "copied").read_bytes() == (run.scratch / "file").read_bytes()
    assert run.canary[0] == run.canary[1]
    assert run.left_over == []
    assert "Traceback" not in run.outcome.text and "defect" not in run.outcome.text


def test_a_good_host_finishes_beside_many_compromised_ones(liars: Run) -> None:
    check_the_rest(liars)
    assert liars.seconds < len(liar.LIES), "a second for each host at most"


def test_a_good_host_finishes_beside_hosts_that_fall_silent(silent: Run) -> None:
    check_the_rest(silent)
    assert silent.seconds < 30


@pytest.mark.parametrize("lie", sorted(set(liar.LIES) - QUIET - POSSIBLE))
def test_a_reply_that_does_not_answer_what_was_asked_makes_its_host_unreachable(
    liars: Run, lie: str
) -> None:
    results = liars.results(f"host-{lie}")

    last = results[-1]
    assert last["status"] == "unreachable" or (
        lie == "ends-at-once" and last["status"] == "failed"
    ), results
    assert len(last["values"]["msg"].splitlines()) == 1 and len(last["values"]["msg"]) < 400
    assert f"host-{lie}" in last["values"]["msg"] or lie == "ends-at-once"


@pytest.mark.parametrize("lie", sorted(POSSIBLE))
def test_a_failure_told_in_an_odd_way_is_a_failure_of_that_host(liars: Run, lie: str) -> None:
    results = liars.results(f"host-{lie}")

    assert [result["status"] for result in results] == ["failed"], results
    assert len(json.dumps(results)) < 500_000


def test_what_they_say_is_printed_within_bounds(tmp_path: Path, nodes: NodeSet) -> None:
    run = run_beside(
        (POSSIBLE - {"surrogates"}) | {"warnings-is-number", "endless-output"},
        tmp_path,
        nodes,
        as_json=False,
        PLAYRUNNER_SHOWN_MB="0.1",
    )

    assert run.outcome.code in (2, 4)
    assert "Traceback" not in run.outcome.text and "defect" not in run.outcome.text
    assert next(
        line for line in run.outcome.out.splitlines() if line.split()[:2] == ["node1", "ok=5"]
    )
    assert len(run.outcome.text) < 3_000_000


def test_a_host_that_does_not_end_a_step_at_its_timeout_is_given_up(silent: Run) -> None:
    results = silent.results("host-goes-on-after-its-timeout")

    assert [result["status"] for result in results] == ["unreachable"], results
    assert "whose timeout is 5 seconds" in results[0]["values"]["msg"]


@pytest.mark.parametrize("lie", sorted(SILENT))
def test_a_host_that_falls_silent_is_given_up(silent: Run, lie: str) -> None:
    results = silent.results(f"host-{lie}")

    assert [result["status"] for result in results] == ["unreachable"], results
    assert (
        "no heartbeat" in results[0]["values"]["msg"]
        and "PLAYRUNNER_SILENT_SECONDS" in results[0]["values"]["msg"]
    )
