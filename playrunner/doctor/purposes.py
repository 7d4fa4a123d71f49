"""Purposes: what a role is about, read off the modules that its steps name; and which of that an
inventory is about."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from pathlib import Path

from playrunner.errors import BadInput

# The first word of a module's name, and what it takes to use such a module.
_OF_MODULES = {
    "aws": "aws",
    "gcp": "gcp",
    "k8s": "kubernetes",
    "image": "images",
    "train": "training",
    "jumphost": "logins",
}
# Roles that are verbs alone have no steps to read it off.
_OF_VERBS = {"sandbox": ("sandbox",), "nodes": ("training",), "nccl_image": ("images",)}
_STEP = re.compile(rf"^\s*(?:-\s+)?({'|'.join(_OF_MODULES)})\.\w+\s*:", re.MULTILINE)

# Variables that make an inventory one about it.
_MARKS = {
    "aws": ("aws_region", "aws_profile"),
    "gcp": ("gcp_project", "gcp_zone", "gcp_region"),
    "kubernetes": ("kubeconfig", "kube_context"),
    "sandbox": ("sandbox_state",),
}

Purposes = dict[str, tuple[str, ...]]  # each with the roles that need it


def of_roles(folder: Path) -> dict[str, tuple[str, ...]]:
    """What each role of the project needs."""
    found = {}
    for role in sorted(path for path in folder.iterdir() if path.is_dir()):
        words = dict.fromkeys(_OF_MODULES[word] for word in _STEP.findall(_steps(role / "tasks")))
        found[role.name] = (
            *words,
            *(each for each in _OF_VERBS.get(role.name, ()) if each not in words),
        )
    return {role: needs for role, needs in found.items() if needs}


def asked_for(names: Iterable[str], roles: dict[str, tuple[str, ...]]) -> Purposes:
    """What the named roles need."""
    wanted = [name.strip().replace("-", "_") for name in names if name.strip()]
    unknown = [name for name in wanted if name not in roles and name != "train"]
    if unknown:
        raise BadInput(
            f'--roles: there is no role "{unknown[0]}" that needs anything; there are:'
            f" {', '.join(sorted(roles))}"
        )
    return _turned(
        {
            name: roles[name]
            for name in roles
            if name in wanted or (name == "training" and "train" in wanted)
        }
    )


def of_inventory(
    value: Callable[[str], str], has_hosts: bool, roles: dict[str, tuple[str, ...]]
) -> Purposes:
    """What the inventory is about, of all that roles need. In a rehearsal clouds and clusters are
    the sandbox's own."""
    about = {purpose for purpose, names in _MARKS.items() if any(map(value, names))}
    about |= {"training"} if has_hosts else set()
    if "sandbox" in about:
        about -= {"aws", "gcp", "kubernetes"}
    elif about & {"aws", "gcp"}:
        about |= {"images", "logins"}
    return {purpose: names for purpose, names in _turned(roles).items() if purpose in about}


def _steps(tasks: Path) -> str:
    """A role's steps; files that its main one does not name are other ways that a verb may go."""
    texts = {file.name: file.read_text(errors="replace") for file in sorted(tasks.glob("*.yaml"))}
    main = texts.get("main.yaml", "")
    return "\n".join([main, *(text for name, text in texts.items() if name in main)])


def _turned(roles: dict[str, tuple[str, ...]]) -> Purposes:
    found: dict[str, list[str]] = {}
    for role, needs in roles.items():
        for need in needs:
            found.setdefault(need, []).append(role)
    return {need: tuple(names) for need, names in found.items()}
