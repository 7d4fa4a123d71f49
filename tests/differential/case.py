"""A case of the differential suite: a folder with a playbook and an options.yaml."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

FOLDER = Path(__file__).parent
CASES = FOLDER / "cases"
EXPECTED = FOLDER / "expected"
RUNS = ("check", "first", "second")  # the check starts from a scratch folder of its own


@dataclass(frozen=True)
class Case:
    """One playbook with the command-line options it is run with."""

    name: str
    tags: str = ""
    skip_tags: str = ""
    limit: str = ""
    start_at_task: str = ""
    extra_vars: dict[str, str] = field(default_factory=dict)
    vault_ids: tuple[str, ...] = ()  # label@file, the file in the case's folder
    diff: bool = False
    expect_exit: int = 0  # what ansible-playbook answers to the first run
    needs: tuple[str, ...] = ()  # "sudo": commands on this machine that not every machine has
    lacks: tuple[
        str,
        ...,
        # "dnf": commands that must not be on this machine, since the case tells what is said then
    ] = ()
    collections: tuple[str, ...] = ()  # "ansible.posix": what Ansible needs beside ansible-core
    uncompared: tuple[
        str, ...
    ] = ()  # names of folders that differ between machines, such as virtual environments
    # Variables of both programs; {inventory} stands for this run's. With
    # ANSIBLE_INVENTORY among them, no inventory is named on the command line
    environment: dict[str, str] = field(default_factory=dict)
    runs: tuple[str, ...] = RUNS
    differs: dict[str, str] = field(
        default_factory=dict
    )  # run -> the line of docs/ansible-differences.md that says why

    @property
    def folder(self) -> Path:
        return CASES / self.name

    @property
    def playbook(self) -> Path:
        return self.folder / "play.yaml"

    @property
    def has_config(self) -> bool:
        """Whether an ansible.cfg lies beside the playbook; both programs then start there."""
        return (self.folder / "ansible.cfg").exists()

    @property
    def recording(self) -> Path:
        return EXPECTED / f"{self.name}.json"

    def options(self) -> list[str]:
        """The options both programs spell alike."""
        given = {
            "--tags": self.tags,
            "--skip-tags": self.skip_tags,
            "--limit": self.limit,
            "--start-at-task": self.start_at_task,
        }
        words = [word for flag, value in given.items() if value for word in (flag, value)]
        for name, value in self.extra_vars.items():
            words += ["--extra-vars", f"{name}={value}"]
        for vault_id in self.vault_ids:
            label, _, file = vault_id.partition("@")
            words += ["--vault-id", f"{label}@{self.folder / file}"]
        return words + (["--diff"] if self.diff else [])

    def digest(self) -> str:
        """Changes when the playbook, a file beside it or the command line changes: a recording
        carries it."""
        words = [word.replace(str(self.folder), ".") for word in self.options()]
        words += [f"{name}={value}" for name, value in self.environment.items()]
        found = hashlib.sha256("\0".join(words).encode())
        for path in sorted(self.folder.rglob("*")):
            if "__pycache__" in path.parts or path.name == "options.yaml":
                continue
            if path.is_file() or path.is_symlink():
                content = str(path.readlink()).encode() if path.is_symlink() else path.read_bytes()
                executable = b"x" if path.stat().st_mode & 0o100 else b"-"
                found.update(
                    b"\0".join([str(path.relative_to(self.folder)).encode(), executable, content])
                    + b"\0"
                )
        return found.hexdigest()[:16]


def read_case(name: str) -> Case:
    options = CASES / name / "options.yaml"
    given: dict[str, Any] = yaml.safe_load(options.read_text()) if options.exists() else {}
    lists = {
        key: tuple(given.pop(key, ()))
        for key in ("needs", "lacks", "collections", "uncompared", "vault_ids")
    }
    return Case(name=name, **lists, **given)


def all_cases() -> list[Case]:
    return [
        read_case(folder.name)
        for folder in sorted(CASES.iterdir())
        if (folder / "play.yaml").exists()
    ]
