"""galaxy.install: roles and collections of a requirements file, without a network."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from tests.support.runner import LIMIT_SECONDS, Outcome

MODULE = '#!/bin/sh\n# WANT_JSON\necho \'{"changed": false, "msg": "of the collection"}\'\n'


def _command(folder: Path, *words: str) -> Outcome:
    done = subprocess.run(
        [sys.executable, "-m", "playrunner", *words],
        cwd=folder, capture_output=True, text=True, timeout=LIMIT_SECONDS, check=False,
    )  # fmt: skip
    return Outcome(done.returncode, done.stdout, done.stderr)


def _git(folder: Path) -> None:
    identity = ["-c", "user.name=t", "-c", "user.email=t@example.org"]
    for words in (["init", "-q", "-b", "main"], ["add", "."], [*identity, "commit", "-qm", "x"]):
        subprocess.run(["git", *words], cwd=folder, check=True)


def test_a_collection_in_a_folder_and_a_role_in_git_are_installed_and_run(tmp_path: Path) -> None:
    collection = tmp_path / "sources/tools"
    (collection / "plugins/modules").mkdir(parents=True)
    (collection / "plugins/modules/says.sh").write_text(MODULE)
    (collection / "README.md").write_text("tools\n")
    (collection / "galaxy.yml").write_text(
        "namespace: acme\nname: tools\nversion: 1.0.0\nreadme: README.md\nauthors: [a]\n"
    )
    role = tmp_path / "sources/greets"
    (role / "tasks").mkdir(parents=True)
    (role / "meta").mkdir()
    (role / "meta/main.yml").write_text("galaxy_info: {author: a, description: d}\n")
    (role / "tasks/main.yml").write_text("- {name: says, acme.tools.says: {}}\n")
    _git(role)
    project = tmp_path / "project"
    project.mkdir()
    (project / "requirements.yml").write_text(f"""
roles:
  - {{name: greets, src: "file://{role}", scm: git, version: main}}
collections:
  - {{name: "{collection}", type: dir}}
""")
    (project / "site.yml").write_text("- {hosts: localhost, gather_facts: false, roles: [greets]}")
    done = _command(project, "galaxy.install", "--json")
    assert done.code == 0, done.text
    assert set(json.loads(done.out)["installed"]) == {"role", "collection"}
    words = ["--inventory", "localhost,", "--extra-vars", "ansible_connection=local", "--json"]
    played = _command(project, "play", "site.yml", *words)
    assert played.code == 0, played.text
    assert played.result("localhost", "greets : says")["values"]["msg"] == "of the collection"


def test_a_source_that_cannot_be_reached_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "requirements.yml").write_text(
        "collections: [{name: 'http://127.0.0.1:9/x.tar.gz', type: url}]"
    )
    done = _command(tmp_path, "galaxy.install")
    assert done.code == 2, done.text
    assert len(done.err.strip().splitlines()) == 1, done.err
    assert "could not be installed" in done.err


def test_a_file_that_lists_nothing_is_refused_with_its_name(tmp_path: Path) -> None:
    (tmp_path / "requirements.yml").write_text("things: []")
    done = _command(tmp_path, "galaxy.install")
    assert done.code == 5
    assert "requirements.yml:1" in done.err
