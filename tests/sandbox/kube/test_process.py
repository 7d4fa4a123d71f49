"""The API as a process: up, kept, seen, restarted where it was, taken away."""

from __future__ import annotations

import json
import os
import signal
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from playrunner.sandbox import state
from playrunner.sandbox.kube.process import process
from tests.support.kube.client import Client

REPOSITORY = Path(__file__).parents[3]


class Commands:
    """`python -m playrunner.sandbox ...` with a state folder of its own, and no real programs to be
    found."""

    def __init__(self, home: Path) -> None:
        self.root = home / "sandbox"
        path = os.pathsep.join(["/usr/bin", "/bin"])
        without = {
            name: value for name, value in os.environ.items() if name != "KUBEBUILDER_ASSETS"
        }
        self.environment = {
            **without,
            "PLAYRUNNER_STATE_HOME": str(home),
            "PYTHONPATH": str(REPOSITORY),
            "PATH": path,
        }

    def __call__(self, *arguments: str) -> str:
        command = [sys.executable, "-m", "playrunner.sandbox", *arguments]
        done = subprocess.run(
            command, env=self.environment, capture_output=True, text=True, timeout=90
        )
        assert done.returncode == 0, done.stderr
        return done.stdout


@pytest.fixture
def sandbox(tmp_path: Path) -> Iterator[Commands]:
    commands = Commands(tmp_path)
    try:
        yield commands
    finally:
        process.down(commands.root)


def test_it_stays_up_between_commands_and_goes_with_down(sandbox: Commands) -> None:
    first = json.loads(sandbox("up", "--only", "kube", "--json"))["kube"]
    assert first["alive"] and first["server"].startswith("https://127.0.0.1:")
    assert json.loads(sandbox("up", "--only", "kube", "--json"))["kube"] == first
    assert json.loads(sandbox("status", "--json"))["kube"] == first
    assert f"export KUBECONFIG={first['kubeconfig']}" in sandbox("env")
    assert first["server"] in sandbox("status")
    sandbox("down")
    assert not sandbox.root.exists()
    assert not state.command_of(first["pid"])
    sandbox("down")


def test_its_files_are_for_its_owner_alone(sandbox: Commands) -> None:
    sandbox("up", "--only", "kube")
    for file in (
        process.kubeconfig_file(sandbox.root),
        process.record_file(sandbox.root),
        sandbox.root / "kube" / "token",
    ):
        assert stat.S_IMODE(file.stat().st_mode) == 0o600, file
    assert Client(process.kubeconfig_file(sandbox.root)).token not in sandbox("status", "--json")


def test_after_a_crash_it_comes_back_where_it_was(sandbox: Commands) -> None:
    first = json.loads(sandbox("up", "--only", "kube", "--json"))["kube"]
    os.kill(first["pid"], signal.SIGKILL)
    state.await_that(lambda: not state.command_of(first["pid"]), 5)
    assert not json.loads(sandbox("status", "--json"))["kube"]["alive"]
    token = Client(process.kubeconfig_file(sandbox.root)).token
    again = json.loads(sandbox("up", "--only", "kube", "--json"))["kube"]
    client = Client(process.kubeconfig_file(sandbox.root))
    assert (
        again["server"] == first["server"]
        and client.token == token
        and client.ok("GET", "/api/v1/namespaces")["items"]
    )


def test_the_real_one_is_used_where_its_programs_are(real_root: Path) -> None:
    found = process.status(real_root)
    assert found is not None and found.alive and found.flavour == "real"
    assert (
        Client(process.kubeconfig_file(real_root))
        .ok("GET", "/version")["gitVersion"]
        .startswith("v1.")
    )
