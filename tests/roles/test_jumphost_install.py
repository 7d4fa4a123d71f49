"""Installing the program on a jump host: every verb runs from there."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from playrunner.modules.jumphost.project import PARTS
from tests.roles.conftest import CLUSTER
from tests.support.runner import REPOSITORY, Outcome
from tests.support.sshd import NodeSet

INSTALL_SECONDS = 300  # packages come from an index


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
