"""Containers as hosts: our agent behind `docker exec` and `podman exec`.

No engine is needed: a program of that name in PATH notes its words and runs them on this machine.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from playrunner.errors import BadSetting
from playrunner.inventory.inventory import read_inventory
from playrunner.ssh.targets import Target, target_of
from playrunner.variables.host_memory import RunVariables
from playrunner.variables.scope import Scope
from playrunner.variables.templating import default_templar
from tests.support.inventories import (
    Write,
    write,  # noqa: F401
)
from tests.support.runner import Stage

# Drops everything up to the container's name, as an engine does, and runs the rest.
ENGINE = """#!/bin/sh
echo "$0 $*" | cut -c1-200 >> {log}
echo "env GREETING=$GREETING" >> {log}
while [ $# -gt 0 ] && [ "$1" != box1 ] && [ "$1" != box2 ]; do shift; done
IN_CONTAINER=$1; export IN_CONTAINER
[ "$IN_CONTAINER" = box1 ] || {{ echo "Error: No such container: $IN_CONTAINER" >&2; exit 1; }}
shift
exec "$@"
"""


@pytest.fixture
def engine(tmp_path: Path) -> tuple[Path, Path]:
    """A folder with a docker and a podman, and the file in which they note their words."""
    folder, log = tmp_path / "bin", tmp_path / "log"
    folder.mkdir()
    for name in ("docker", "podman"):
        (folder / name).write_text(ENGINE.format(log=log))
        (folder / name).chmod(0o755)
    return folder, log


def stage_of(tmp_path: Path, **variables: object) -> Stage:
    inventory = tmp_path / "inventory.json"
    inventory.write_text(json.dumps({"all": {"hosts": {"box1": None}, "vars": variables}}))
    return Stage(tmp_path, inventory)


PLAY = """
- hosts: all
  gather_facts: false
  tasks:
    - {name: where, command: sh -c 'echo $IN_CONTAINER'}
    - {name: file, copy: {dest: %s/file, content: "hello"}}
"""


@pytest.mark.parametrize(
    ("kind", "called"),
    [
        ("docker", "docker exec -i box1 /bin/sh -c"),
        ("community.docker.docker", "docker exec -i box1 /bin/sh -c"),
        ("podman", "podman exec -i box1 /bin/sh -c"),
        ("containers.podman.podman", "podman exec -i box1 /bin/sh -c"),
    ],
)
def test_steps_run_in_the_container(
    tmp_path: Path, engine: tuple[Path, Path], kind: str, called: str
) -> None:
    folder, log = engine
    stage = stage_of(tmp_path, ansible_connection=kind)
    path = f"{folder}:{os.environ['PATH']}"
    done = stage.play(PLAY % tmp_path, PATH=path)
    assert done.code == 0, done.text
    assert done.result("box1", "where")["values"]["stdout"] == "box1"
    assert (tmp_path / "file").read_text() == "hello"
    assert f"/{called}" in log.read_text()
    again = stage.play(PLAY % tmp_path, PATH=path)
    assert again.result("box1", "file")["status"] == "ok"


def test_settings_reach_the_engine_and_values_of_its_environment_no_command_line(
    tmp_path: Path, engine: tuple[Path, Path]
) -> None:
    folder, log = engine
    stage = stage_of(
        tmp_path,
        ansible_connection="docker",
        ansible_user="app",
        ansible_docker_extra_args="--tlsverify --log-level=error",
        ansible_docker_extra_env={"GREETING": "secret-word"},
        ansible_docker_working_dir="/srv",
        ansible_docker_privileged=True,
    )
    done = stage.play(PLAY % tmp_path, PATH=f"{folder}:{os.environ['PATH']}")
    assert done.code == 0, done.text
    words, environment = log.read_text().splitlines()[:2]
    assert (
        "docker --tlsverify --log-level=error exec -i -u app -w /srv --privileged -e GREETING box1"
        in words
    )
    assert "secret-word" not in words and environment == "env GREETING=secret-word"


def test_a_container_that_does_not_run_is_unreachable_in_the_engines_words(
    tmp_path: Path, engine: tuple[Path, Path]
) -> None:
    folder, _ = engine
    stage = stage_of(tmp_path, ansible_connection="docker", ansible_docker_host="box2")
    done = stage.play(PLAY % tmp_path, PATH=f"{folder}:{os.environ['PATH']}")
    assert done.code == 4 and "No such container: box2" in done.text


def test_a_missing_engine_is_named(tmp_path: Path) -> None:
    stage = stage_of(
        tmp_path, ansible_connection="podman", ansible_podman_executable="/nowhere/podman"
    )
    done = stage.play(PLAY % tmp_path)
    assert done.code == 4 and "there is no program /nowhere/podman" in done.text


# Settings


def target(write: Write, host: str, **variables: object) -> Target:
    path = write("i.json", json.dumps({"all": {"hosts": {host: variables}}}))
    return target_of(Scope(RunVariables(read_inventory([path]), default_templar, {}, {}), host))


def test_a_name_is_never_an_option_of_the_engine(write: Write) -> None:
    with pytest.raises(BadSetting, match="must be an address"):
        target(write, "--privileged", ansible_connection="docker")


def test_a_pod_is_named_by_its_settings_or_the_host(write: Write) -> None:
    found = target(
        write,
        "web-0",
        ansible_connection="kubernetes.core.kubectl",
        ansible_kubectl_namespace="prod",
        ansible_kubectl_container="main",
    ).container
    assert found and (found.name, found.namespace, found.container) == ("web-0", "prod", "main")


@pytest.mark.parametrize(
    ("variable", "value", "message"),
    [
        ("ansible_kubectl_pod", "../secrets", "must be a name that Kubernetes takes"),
        ("ansible_kubectl_token", "x", "put it into a kubeconfig"),
    ],
)
def test_settings_of_pods_that_cannot_be_used_are_refused(
    write: Write,
    variable: str,
    value: str,
    message: str,
) -> None:
    with pytest.raises(BadSetting, match=message):
        target(write, "web", ansible_connection="kubectl", **{variable: value})
