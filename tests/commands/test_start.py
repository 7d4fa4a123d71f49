"""What a command loads before it does its work: only what that needs."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from playrunner.commands.namespace import namespace
from tests.support.runner import REPOSITORY
from tests.support.sshd import NodeSet

PLAY = """
- hosts: nodes
  gather_facts: false
  tasks:
    - {name: there, command: "true", changed_when: false}
"""
TEMPLATES = {"jinja2", "playrunner.variables.template_engine", "playrunner.variables.filters"}
SSH = {"paramiko", "fabric", "cryptography"}
PLUGINS = {"uuid"}  # for callback plugins


@pytest.mark.parametrize(
    ("words", "verbs"),
    [
        (["train.launch", "--name", "train.x"], None),  # which might be one that is misspelled
        (["train.launch", "--name", "x"], {"train.launch"}),
        (["train.status", "train.logs"], {"train.status", "train.logs"}),
        (["train.import-weights"], None),
        (["train"], None),
    ],
)
def test_only_the_verbs_that_are_named_are_parsed_and_all_where_one_is_not_known(
    words: list[str], verbs: set[str] | None
) -> None:
    every = {name for name in namespace(()).task_names if name.startswith("train.")}
    assert len(every) > 20
    assert set(namespace(words).task_names) == (verbs or every)


def test_a_play_without_templates_over_kept_connections_loads_neither_jinja2_nor_ssh(
    nodes: NodeSet, tmp_path: Path
) -> None:
    with tempfile.TemporaryDirectory() as runtime:  # a socket's path must be short
        settings = {"XDG_RUNTIME_DIR": runtime, "PLAYRUNNER_CONNECTIONS_KEEP": "10m"}
        words = ["play", write(tmp_path, PLAY), "--inventory", str(nodes.inventory(tmp_path))]
        try:
            loaded = imports_of(words, tmp_path, settings)
        finally:
            imports_of(["connections.close"], tmp_path, settings)
    assert "playrunner.ssh.kept.client" in loaded
    assert not loaded & (TEMPLATES | SSH | PLUGINS)


def test_a_play_with_a_template_loads_what_runs_it(nodes: NodeSet, tmp_path: Path) -> None:
    play = write(tmp_path, PLAY.replace('"true"', '"echo {{ inventory_hostname }}"'))
    words = ["play", play, "--inventory", str(nodes.inventory(tmp_path))]
    assert imports_of(words, tmp_path, {}) >= TEMPLATES | SSH


def write(folder: Path, playbook: str) -> str:
    path = folder / "play.yaml"
    path.write_text(playbook)
    return str(path)


def imports_of(words: list[str], state: Path, settings: dict[str, str]) -> set[str]:
    """The modules that a command imports until its end."""
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "invoke", *words],
        cwd=REPOSITORY,
        env={**os.environ, "PLAYRUNNER_STATE_HOME": str(state), **settings},
        capture_output=True,
        text=True,
        check=True,
    )
    return {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
