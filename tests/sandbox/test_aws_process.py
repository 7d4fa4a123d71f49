"""The pretend AWS as a process: up, kept, seen, taken away; and the real aws CLI against it."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from playrunner.sandbox import state
from playrunner.sandbox.aws.api import process
from tests.support.aws.sandbox import PretendAws

REPOSITORY = Path(__file__).parents[2]


class Commands:
    """`python -m playrunner.sandbox ...` with a state folder of its own."""

    def __init__(self, home: Path) -> None:
        self.root = home / "sandbox"
        self.environment = {
            **os.environ,
            "PLAYRUNNER_STATE_HOME": str(home),
            "PYTHONPATH": str(REPOSITORY),
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
    pytest.importorskip(
        "moto", reason="the pretend AWS needs moto: pip install playrunner[sandbox]"
    )
    pytest.importorskip(
        "flask", reason="the pretend AWS needs flask: pip install playrunner[sandbox]"
    )
    commands = Commands(tmp_path)
    try:
        yield commands
    finally:
        process.down(commands.root)


def test_it_stays_up_between_commands_and_goes_with_down(sandbox: Commands) -> None:
    first = json.loads(sandbox("up", "--only", "aws", "--json"))["aws"]
    assert first["alive"]
    assert json.loads(sandbox("up", "--only", "aws", "--json"))["aws"] == first
    assert json.loads(sandbox("status", "--json")) == {"inventory": None, "nodes": [], "aws": first}
    assert f"export AWS_ENDPOINT_URL={first['endpoint_url']}" in sandbox("env")
    assert_secret_is_kept(sandbox.root, sandbox("status") + sandbox("status", "--json"))
    port = int(first["endpoint_url"].rpartition(":")[2])
    assert not answers(outward_address(), port), "it must listen on loopback alone"
    sandbox("down")
    assert not sandbox.root.exists()
    assert not state.commands().get(first["pid"]), "its port may be somebody else's by now"
    sandbox("down")


def test_one_that_died_is_started_again_at_the_same_place(sandbox: Commands) -> None:
    first = json.loads(sandbox("up", "--only", "aws", "--json"))["aws"]
    os.kill(first["pid"], 9)
    gone = process.status(sandbox.root)
    assert gone is not None
    again = json.loads(sandbox("up", "--only", "aws", "--json"))["aws"]
    assert (again["endpoint_url"], again["alive"]) == (first["endpoint_url"], True)
    assert again["pid"] != first["pid"]


def test_the_aws_cli_works_against_it(aws: PretendAws) -> None:
    program = shutil.which(
        "aws", path=os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    )
    if program is None:
        pytest.skip("the aws CLI is not installed: pip install awscli")
    environment = {**os.environ, **aws.up.environment(), "AWS_PAGER": ""}

    def cli(*arguments: str) -> str:
        done = subprocess.run(
            [program, *arguments], env=environment, capture_output=True, text=True, timeout=60
        )
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    _, subnets = aws.network()
    aws.cluster(subnets, version="1.33")
    assert (
        cli(
            "eks",
            "describe-cluster",
            "--name",
            "demo",
            "--query",
            "cluster.[status,version]",
            "--output",
            "text",
        )
        == "ACTIVE\t1.33"
    )
    assert (
        cli("ec2", "describe-subnets", "--subnet-ids", *subnets, "--query", "length(Subnets)")
        == "2"
    )
    folder = aws.root.parent
    cli("eks", "update-kubeconfig", "--name", "demo", "--kubeconfig", str(folder / "kubeconfig"))
    assert "arn:aws:eks:us-west-2:123456789012:cluster/demo" in (folder / "kubeconfig").read_text()


def assert_secret_is_kept(root: Path, said: str) -> None:
    record = process.record_file(root)
    assert json.loads(record.read_text())["secret_access_key"] not in said
    assert record.stat().st_mode & 0o077 == 0


def answers(address: str, port: int) -> bool:
    try:
        with socket.create_connection((address, port), timeout=2):
            return True
    except OSError:
        return False


def outward_address() -> str:
    """An address of this machine that is not loopback; none is as good as one where nobody
    listens."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))  # nothing is sent
            address = str(probe.getsockname()[0])
        except OSError:
            return "192.0.2.1"
    return address if not address.startswith("127.") else "192.0.2.1"
