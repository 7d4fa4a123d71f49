"""Installs roles and collections with ansible-core's ansible-galaxy, into the project's folders."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from playrunner import project
from playrunner.errors import BadInput, Place, StepFailed
from playrunner.plugins import ansible_library
from playrunner.text.documents import Located, read_yaml

_FOLDERS = {"role": "roles", "collection": "collections"}
_DONE = ("was installed successfully", "is already installed", "Nothing to do")


def install_requirements(file: str, force: bool = False) -> dict[str, list[str]]:
    """Install what a file lists; returns what was done, by kind."""
    path = Path(file)
    if not path.is_file():
        raise BadInput(f'there is no file "{file}"; name it with --requirements')
    listed = read_yaml(path)
    wanted = _wanted(listed, path)
    if not ansible_library.is_installed():
        raise BadInput(f"this needs ansible-core: {project.install_extra('ansible')}")
    return {kind: _install(kind, path, force) for kind in wanted}


def _wanted(listed: Any, path: Path) -> list[str]:
    if isinstance(listed, list):
        return ["role"]
    if not isinstance(listed, Located) or not {"roles", "collections"} & set(listed):
        raise BadInput(
            "a requirements file is a mapping with roles and collections, or a list of roles",
            Place(str(path), 1),
        )
    return [kind for kind, folder in _FOLDERS.items() if listed.get(folder)]


def _install(kind: str, path: Path, force: bool) -> list[str]:
    command = [sys.executable, "-m", "ansible", "galaxy", kind, "install", "-r", str(path)]
    command += ["-p", _FOLDERS[kind], *(["--force"] if force else [])]
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        env={**os.environ, "ANSIBLE_NOCOLOR": "1", "PYTHONWARNINGS": "ignore"},
        check=False,
    )
    lines = [line.strip(" -") for line in done.stdout.splitlines() if line.strip()]
    if done.returncode:
        errors = [line.strip() for line in done.stderr.splitlines() if "ERROR" in line]
        reason = (errors or lines or ["ansible-galaxy gave no message"])[-1]
        raise StepFailed(
            f"{path}: the {_FOLDERS[kind]} could not be installed:"
            f" {reason.removeprefix('[ERROR]: ').removeprefix('ERROR! ')}"
        )
    return [line for line in lines if any(word in line for word in _DONE)]
