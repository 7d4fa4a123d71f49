"""The jump host: a machine in the pretend AWS, an installation on a real SSH node, and host keys
learnt from a console."""

from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import yaml

from playrunner.modules.jumphost.project import PARTS
from tests.roles.conftest import CLUSTER
from tests.support.aws.module_stage import Stage
from tests.support.aws.role_listing import everything
from tests.support.aws.sandbox import PretendAws
from tests.support.runner import REPOSITORY, Outcome, invoke
from tests.support.sshd import NodeSet

OFFICE = "203.0.113.7/32"
INSTALL_SECONDS = 300  # packages come from an index


class Machine:
    """The role with a machine of its own, nothing installed on it: a pretend one does not start."""

    def __init__(self, aws: PretendAws, inventory: Path, state: Path) -> None:
        self.aws, self.inventory, self.state = aws, inventory, state

    def run(self, verb: str, *words: str, **variables: Any) -> Outcome:
        given = {
            "jumphost_install": False,
            "jumphost_ssh_cidrs": [OFFICE],
            "network_nat": "none",
            **variables,
        }
        return invoke(
            f"jumphost.{verb}",
            "--inventory",
            self.inventory,
            "--extra-vars",
            json.dumps(given),
            "--json",
            *words,
            state=self.state,
        )

    def mutations(self) -> int:
        return sum(call["mutating"] for call in self.aws.calls())


@pytest.fixture
def machine(aws: PretendAws, inventory: Path, tmp_path: Path) -> Machine:
    return Machine(aws, inventory, tmp_path / "state")


def test_the_machine_is_made_once_and_goes_with_all_that_was_made_for_it(machine: Machine) -> None:
    before = everything(machine.aws)
    foreseen = machine.run("check")
    assert foreseen.code == 0, foreseen.text
    assert not machine.mutations() and not (machine.state / "jumphost").exists()

    made = machine.run("create")
    assert made.code == 0, made.text
    _is_as_it_should_be(machine)

    mutations = machine.mutations()
    again = machine.run("create")
    assert again.code == 0 and again.counts("localhost")["changed"] == 0, again.text
    assert machine.mutations() == mutations

    assert machine.run("delete", "--yes").code == 0
    assert not (machine.state / "jumphost").exists()
    left = everything(machine.aws)
    for kind in ("instance", "key pair", "role", "instance profile", "volume", "interface"):
        assert left.get(kind) == before.get(kind), kind


def _is_as_it_should_be(machine: Machine) -> None:
    ec2, name = machine.aws.client("ec2"), f"{CLUSTER}-jumphost"
    (instance,) = [one for one in machine.aws.instances() if one["State"]["Name"] == "running"]
    assert instance["MetadataOptions"]["HttpTokens"] == "required"
    assert instance["InstanceType"] == "t3.large" and instance["KeyName"] == name
    volume = ec2.describe_volumes(
        VolumeIds=[instance["BlockDeviceMappings"][0]["Ebs"]["VolumeId"]]
    )["Volumes"][0]
    assert volume["Encrypted"] and volume["Size"] == 100
    (group,) = ec2.describe_security_groups(GroupIds=[instance["SecurityGroups"][0]["GroupId"]])[
        "SecurityGroups"
    ]
    (rule,) = group["IpPermissions"]
    assert (rule["FromPort"], rule["ToPort"]) == (22, 22)
    assert [one["CidrIp"] for one in rule["IpRanges"]] == [OFFICE] and not rule["Ipv6Ranges"]
    policy = machine.aws.client("iam").get_role_policy(RoleName=name, PolicyName="jumphost")[
        "PolicyDocument"
    ]
    assert [statement["Action"] for statement in policy["Statement"]] == [["eks:DescribeCluster"]]

    key = machine.state / "jumphost" / CLUSTER / "key"
    assert key.stat().st_mode & 0o777 == 0o600
    public = subprocess.run(
        ["ssh-keygen", "-y", "-f", key], check=True, capture_output=True, text=True
    ).stdout.split()[1]
    (pair,) = ec2.describe_key_pairs(IncludePublicKey=True)["KeyPairs"]
    assert pair["PublicKey"].split()[1] == public
    secret = key.read_text().splitlines()[2]
    told = [
        file
        for file in (machine.state / "runs").rglob("*")
        if file.is_file() and secret in file.read_text()
    ]
    assert not told, "the private key is in no record"

    entry = yaml.safe_load((machine.state / "jumphost" / CLUSTER / "inventory.yaml").read_text())
    assert entry["all"]["hosts"]["jumphost"]["ansible_host"] == instance["PublicIpAddress"]
    assert entry["all"]["hosts"]["jumphost"]["ansible_ssh_private_key_file"] == str(key)
    assert entry["all"]["children"]["nodes"]["vars"] == {"via": "jumphost"}


def test_nothing_is_made_before_it_is_said_who_may_log_in(machine: Machine) -> None:
    refused = machine.run("create", jumphost_install=True, jumphost_ssh_cidrs=[])
    assert refused.code == 2 and "jumphost_ssh_cidrs" in refused.text
    assert not machine.mutations()


def test_the_whole_internet_is_let_in_only_when_that_is_said(machine: Machine) -> None:
    refused = machine.run("create", jumphost_ssh_cidrs=["0.0.0.0/0"])
    assert refused.code != 0 and "open_to_world" in refused.text
    assert not everything(machine.aws).get("instance")


def test_a_check_reaches_for_no_machine_that_is_not_there(machine: Machine) -> None:
    foreseen = machine.run("check", jumphost_install=True)
    assert foreseen.code == 0, foreseen.text
    statuses = {result["step"]: result["status"] for result in foreseen.data["results"]}
    assert (
        statuses["jumphost : jumphost Python"]
        == statuses["jumphost : jumphost packages"]
        == "unknown"
    )


class Project:
    """A copy of this project, since the original may be worked on, and the role with a node for a
    jump host."""

    def __init__(self, folder: Path, nodes: NodeSet) -> None:
        self.root, self.state, self.node = folder / "project", folder / "state", nodes[0]
        for part in PARTS:
            source = REPOSITORY / part
            if source.is_dir():
                shutil.copytree(
                    source, self.root / part, ignore=shutil.ignore_patterns("__pycache__")
                )
            elif source.exists():
                self.root.mkdir(exist_ok=True)
                shutil.copy(source, self.root / part)
        self.home = self.node.scratch / folder.name
        self.inventory = nodes.inventory(folder, cluster_name=CLUSTER)
        self.settings = folder / "settings.yaml"
        self.settings.write_text(
            yaml.safe_dump(
                {
                    "all": {
                        "vars": {
                            "cluster_name": CLUSTER,
                            "jumphost_existing": self.node.name,
                            "jumphost_home": str(self.home),
                            "jumphost_python": sys.executable,
                            "jumphost_extras": [],
                        }
                    }
                }
            )
        )
        self.entry = self.state / "jumphost" / CLUSTER / "inventory.yaml"

    def invoke(self, *words: object) -> Outcome:
        environment = {
            **os.environ,
            "PLAYRUNNER_STATE_HOME": str(self.state),
            "NO_COLOR": "1",
            "PYTHONPATH": str(self.root),
        }
        ran = subprocess.run(
            [
                sys.executable,
                "-m",
                "invoke",
                *map(str, words),
                "--inventory",
                self.inventory,
                "--inventory",
                self.settings,
            ],
            cwd=self.root,
            env=environment,
            check=False,
            text=True,
            capture_output=True,
            stdin=subprocess.DEVNULL,
            timeout=INSTALL_SECONDS,
        )
        return Outcome(ran.returncode, ran.stdout, ran.stderr)

    def changed(self, outcome: Outcome) -> list[str]:
        assert outcome.code == 0, outcome.text
        return [
            result["step"].rpartition("jumphost ")[2]
            for result in outcome.data["results"]
            if result["status"] == "changed"
        ]


@pytest.fixture
def project(tmp_path: Path, nodes: NodeSet) -> Project:
    return Project(tmp_path, nodes)


PING = """
- hosts: node2
  gather_facts: false
  tasks:
    - {name: hello, command: "echo hello from {{ inventory_hostname }}", register: said}
    - {name: heard, assert: {that: "said.stdout == 'hello from node2'"}}
"""


@pytest.mark.processes
def test_every_verb_runs_from_a_host_that_was_there_already(
    project: Project, tmp_path: Path
) -> None:
    project.changed(project.invoke("jumphost.check", "--json"))
    assert not project.home.exists() and not (project.state / "jumphost").exists()

    project.changed(project.invoke("jumphost.create", "--json"))
    playbook = tmp_path / "ping.yaml"
    playbook.write_text(PING)
    from_there = project.node.ssh(
        f"PLAYRUNNER_STATE_HOME={tmp_path}/there {project.home}/bin/invoke play {playbook}"
        f" --inventory {project.inventory} --json"
    )
    assert from_there.returncode == 0, from_there.stdout + from_there.stderr
    assert json.loads(from_there.stdout)["recap"]["node2"]["ok"] == 2

    assert project.changed(project.invoke("jumphost.create", "--json")) == []

    through = project.invoke(
        "play", playbook, "--json", "--inventory", project.inventory, "--inventory", project.entry
    )
    assert through.code == 0 and through.counts("node2")["ok"] == 2, through.text
    shown = project.invoke("jumphost.shell", "--command", "invoke --version && pwd -P")
    assert shown.code == 0 and str(project.home / "releases") in shown.out, shown.text

    (project.root / "README.md").write_text("changed\n")
    assert project.changed(project.invoke("jumphost.create", "--json")) == [
        "project",
        "code",
        "current version",
    ]
    assert (project.home / "current" / "README.md").read_text() == "changed\n"

    assert project.invoke("jumphost.delete", "--yes").code == 0
    assert not project.home.exists() and not (project.state / "jumphost").exists()
    assert project.invoke("jumphost.inventory").code == 5, "there is none any more"


def test_a_folder_with_something_else_in_it_is_left_alone(project: Project) -> None:
    project.home.mkdir()
    (project.home / "thesis.txt").write_text("years of work")
    refused = project.invoke("jumphost.create", "--json")
    assert refused.code == 2 and "is not tagged" in refused.text
    assert project.invoke("jumphost.delete", "--yes").code == 0
    assert [path.name for path in project.home.iterdir()] == ["thesis.txt"]


def _host_key(number: int) -> str:
    kind = b"ssh-ed25519"
    blob = len(kind).to_bytes(4, "big") + kind + (32).to_bytes(4, "big") + bytes([number]) * 32
    return f"ssh-ed25519 {base64.b64encode(blob).decode()}"


class Console:
    """An EC2 that knows one call: what a machine printed. It shows nothing at the first looks, as
    the real one."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.silent, self.key = 2, _host_key(1)
        outer = self

        class Answer(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                outer.asked.append(self.rfile.read(int(self.headers["Content-Length"])).decode())
                text = (
                    outer.printed()
                    if len(outer.asked) > outer.silent
                    else "[    0.0] Linux version 6.1"
                )
                body = (
                    "<GetConsoleOutputResponse"
                    ' xmlns="http://ec2.amazonaws.com/doc/2016-11-15/"><instanceId>i-1</instanceId>'
                    f"<output>{base64.b64encode(text.encode()).decode()}</output></GetConsoleOutputResponse>"
                ).encode()
                self.send_response(200)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *args: Any) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Answer)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def printed(self) -> str:
        return (
            "ssh-rsa AAAA-not-between-the-marks\n<14>Nov  1 cloud-init: -----BEGIN SSH HOST KEY"
            f" KEYS-----\n[   17.2] cloud-init[1612]: {self.key}"
            f" root@ip-10-0-0-1\necdsa-sha2-nistp256 {'A' * 100} a key that is cut short\n-----END"
            " SSH HOST KEY KEYS-----\n"
        )


@pytest.fixture
def console() -> Iterator[Console]:
    made = Console()
    yield made
    made.server.shutdown()
    made.server.server_close()


@pytest.fixture
def stage(console: Console, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Stage:
    monkeypatch.setenv("PLAYRUNNER_STATE_HOME", str(tmp_path / "state"))
    (tmp_path / "aws-credentials").write_text(
        "[sandbox]\naws_access_key_id = A\naws_secret_access_key = B\n"
    )
    up = SimpleNamespace(
        region="us-west-2", endpoint_url=f"http://127.0.0.1:{console.server.server_port}"
    )
    return Stage(SimpleNamespace(up=up, root=tmp_path), tmp_path)  # type: ignore[arg-type]


def _known(instance: str) -> list[dict[str, Any]]:
    return [
        {
            "name": "key",
            "jumphost.known_host": {"name": "box", "instance_id": instance},
            "register": "known",
        }
    ]


def test_a_machine_is_known_by_the_keys_its_console_showed(
    stage: Stage, console: Console, tmp_path: Path
) -> None:
    file = tmp_path / "state" / "jumphost" / "demo" / "known_hosts"
    foreseen = stage.play(_known("i-1"), check=True)
    assert foreseen.statuses == {"key": "changed"} and not console.asked and not file.exists()

    made = stage.play(_known("i-1"))
    assert made.code == 0 and made.values["key"]["host_keys"] == [console.key], made.messages
    assert len(console.asked) > console.silent, "it waited until they were shown"
    found = subprocess.run(
        ["ssh-keygen", "-F", "box", "-f", file], check=True, capture_output=True, text=True
    ).stdout
    assert [
        " ".join(line.split()[1:3]) for line in found.splitlines() if not line.startswith("#")
    ] == [console.key]

    asked = len(console.asked)
    assert not stage.play(_known("i-1")).changed and len(console.asked) == asked, (
        "a console forgets; we do not ask it again"
    )

    console.key = _host_key(2)
    assert stage.play(_known("i-2")).values["key"]["host_keys"] == [console.key], (
        "another machine, another key"
    )
    assert stage.delete(_known("i-2")).code == 0
    assert not file.exists()


def test_a_machine_that_shows_no_key_yet_can_be_deleted(
    stage: Stage, console: Console, tmp_path: Path
) -> None:
    file = tmp_path / "state" / "jumphost" / "demo" / "known_hosts"
    file.parent.mkdir(parents=True)
    file.write_text(f"other {_host_key(3)} i-9\n# box i-1\n")
    console.silent = 1000
    assert stage.delete(_known("i-1")).code == 0
    assert file.read_text() == f"other {_host_key(3)} i-9\n"


def test_a_host_that_does_not_answer_keeps_nothing_else_from_going(project: Project) -> None:
    project.entry.parent.mkdir(parents=True)
    project.entry.write_text("all: {}\n")
    project.inventory.write_text(
        "nodes: {hosts: {node1: {ansible_host: 127.0.0.1, ansible_port: 1}}}\n"
    )
    ended = project.invoke("jumphost.delete", "--yes", "--json")
    assert ended.code == 2, ended.text
    assert ended.data["removed"] == ["jumphost : jumphost inventory"] and not project.entry.exists()
    assert "connection refused" in ended.data["failed"]["jumphost : jumphost folder"]
