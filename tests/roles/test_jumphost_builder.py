"""What builds images on the jump host: one that works is kept, one that is missing is installed,
and what cannot be is refused with the way out."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

from tests.support.runner import Outcome, invoke
from tests.support.sshd import NodeSet

OFFERS_DEBIAN = '[ "$2" = docker ] || [ "$2" = podman ] || [ "$2" = docker.io ]'
OFFERS_AMAZON = '[ "$4" = docker ]'


class Host:
    """A node with only the programs that a test gives it, so that it does not matter what this
    machine has; foreign programs are played by scripts."""

    def __init__(self, folder: Path, nodes: NodeSet) -> None:
        self.folder, self.nodes, self.programs = folder, nodes, folder / "programs"
        self.programs.mkdir()
        self.has("id", "echo root")

    def has(self, program: str, script: str) -> None:
        file = self.programs / program
        file.write_text(f"#!/bin/sh\n{script}\n")
        file.chmod(0o755)

    def play(self, *words: str, **variables: object) -> Outcome:
        playbook = self.folder / "builder.yaml"
        role = {"name": "jumphost", "tasks_from": "builder"}
        play = {
            "hosts": "localhost",
            "gather_facts": False,
            "environment": {"PATH": str(self.programs)},
            "vars": {
                "cluster_name": "drill",
                "jumphost_existing": self.nodes[0].name,
                "jumphost_folder": {},  # its folder there is ours
                **variables,
            },
            "tasks": [{"name": "builder", "include_role": role}],
        }
        playbook.write_text(yaml.safe_dump([play]))
        inventory = self.nodes.inventory(self.folder)
        return invoke(
            *("play", playbook, "--inventory", inventory, "--json", *words),
            state=self.folder / "state",
        )


@pytest.fixture
def host(tmp_path: Path, nodes: NodeSet) -> Host:
    return Host(tmp_path, nodes)


def _statuses(outcome: Outcome) -> dict[str, str]:
    return {
        result["step"].rpartition("jumphost ")[2]: result["status"]
        for result in outcome.data["results"]
    }


@pytest.mark.parametrize("program", ["docker", "podman", "buildah"])
def test_a_builder_that_works_is_left_alone(host: Host, program: str) -> None:
    host.has(program, "exit 0")
    played = host.play()
    assert played.code == 0, played.text
    ran = [step for step, status in _statuses(played).items() if status != "skipped"]
    assert ran == ["builder", "image builder found"]


def test_a_check_foresees_the_package_and_says_what_it_cannot_know(host: Host) -> None:
    for program in ("apt-cache", "apt-get", "dpkg", "dpkg-query"):
        found = shutil.which(program)
        if not found:
            pytest.skip("this machine has no apt")
        (host.programs / program).symlink_to(found)
    shown = subprocess.run(["dpkg", "-s", "wmdocker"], check=False, capture_output=True)
    assert shown.returncode, "the package to foresee must not be here"
    foreseen = host.play(
        "--check", jumphost_become=True, jumphost_builder_packages=["no-such", "wmdocker"]
    )
    assert foreseen.code == 0, foreseen.text
    statuses = _statuses(foreseen)
    assert statuses["image builder package"] == "changed"
    later = ("image builder installed", "docker service", "docker group", "image builder works")
    assert {statuses[step] for step in later} == {"unknown"}


@pytest.mark.parametrize(
    ("programs", "found"),
    [
        ({"docker": "exit 0", "podman": "exit 0"}, "works docker root"),
        ({"docker": "exit 1", "podman": "exit 0"}, "works podman root"),
        ({"docker": "exit 1", "apt-cache": OFFERS_DEBIAN}, "stopped docker root"),
        ({"apt-cache": OFFERS_DEBIAN}, "offered docker.io root"),
        ({"apt-cache": '[ "$2" = docker ]'}, "none - root"),  # Debian's docker is a dock for icons
        ({"dnf": OFFERS_AMAZON, "apt-cache": OFFERS_DEBIAN}, "offered docker root"),
        ({}, "none - root"),
    ],
)
def test_what_is_there_is_told_apart(host: Host, programs: dict[str, str], found: str) -> None:
    for program, script in programs.items():
        host.has(program, script)
    played = host.play("--check", jumphost_become=True)
    (look,) = [
        result
        for result in played.data["results"]
        if result["step"].endswith("image builder found")
    ]
    assert look["values"]["stdout"] == found, played.text


def test_without_root_it_is_refused_with_both_ways_out(host: Host) -> None:
    host.has("apt-cache", OFFERS_DEBIAN)
    refused = host.play(jumphost_become=False)
    assert refused.code == 2, refused.text
    assert "takes root: set jumphost_become: true" in refused.text
    assert "jumphost_image_builder: false" in refused.text


def test_a_package_manager_without_one_is_refused_with_what_was_looked_for(host: Host) -> None:
    host.has("apt-cache", "exit 1")
    refused = host.play(jumphost_become=True)
    assert refused.code == 2, refused.text
    assert "offers none of docker.io, docker, podman, buildah" in refused.text
    assert "image_builder: cluster" in refused.text
