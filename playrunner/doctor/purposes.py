"""What a role needs, derived from the modules its steps use, and what an inventory uses."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from pathlib import Path

from playrunner import project
from playrunner.errors import BadInput

# The first part of a module's name, and the purpose it serves.
_OF_MODULES = {
    "aws": "aws",
    "gcp": "gcp",
    "k8s": "kubernetes",
    "image": "images",
    "train": "training",
    "jumphost": "logins",
}
# Roles with commands only have no steps to derive it from.
_OF_VERBS = {"sandbox": ("sandbox",), "nodes": ("training",), "nccl_image": ("images",)}
_STEP = re.compile(rf"^\s*(?:-\s+)?({'|'.join(_OF_MODULES)})\.\w+\s*:", re.MULTILINE)

# Inventory variables that show a purpose.
_VARIABLES = {
    "aws": ("aws_region", "aws_profile"),
    "gcp": ("gcp_project", "gcp_zone", "gcp_region"),
    "kubernetes": ("kubeconfig", "kube_context"),
    "sandbox": ("sandbox_state",),
}

Purposes = dict[str, tuple[str, ...]]  # each with the roles that need it


def of_roles() -> dict[str, tuple[str, ...]]:
    """What each role of the project needs."""
    found = {}
    for role, folder in project.role_folders().items():
        words = dict.fromkeys(_OF_MODULES[word] for word in _STEP.findall(_steps(folder / "tasks")))
        found[role] = (*words, *(each for each in _OF_VERBS.get(role, ()) if each not in words))
    return {role: needs for role, needs in found.items() if needs}


def asked_for(names: Iterable[str], roles: dict[str, tuple[str, ...]]) -> Purposes:
    """What the named roles need."""
    requested = [name.strip().replace("-", "_") for name in names if name.strip()]
    unknown = [name for name in requested if name not in roles and name != "train"]
    if unknown:
        raise BadInput(
            f'--roles: no role "{unknown[0]}" has requirements to check; choose from'
            f" {', '.join(sorted(roles))}"
        )
    return _roles_by_purpose(
        {
            name: roles[name]
            for name in roles
            if name in requested or (name == "training" and "train" in requested)
        }
    )


def of_inventory(
    value: Callable[[str], str], has_hosts: bool, roles: dict[str, tuple[str, ...]]
) -> Purposes:
    """The purposes the inventory uses; in a rehearsal clouds and clusters are the sandbox's."""
    about = {purpose for purpose, names in _VARIABLES.items() if any(map(value, names))}
    about |= {"training"} if has_hosts else set()
    if "sandbox" in about:
        about -= {"aws", "gcp", "kubernetes"}
    elif about & {"aws", "gcp"}:
        about |= {"images", "logins"}
    return {
        purpose: names for purpose, names in _roles_by_purpose(roles).items() if purpose in about
    }


def _steps(tasks: Path) -> str:
    """A role's main steps and the files they name; other files belong to other commands."""
    texts = {file.name: file.read_text(errors="replace") for file in sorted(tasks.glob("*.yaml"))}
    main = texts.get("main.yaml", "")
    return "\n".join([main, *(text for name, text in texts.items() if name in main)])


def _roles_by_purpose(roles: dict[str, tuple[str, ...]]) -> Purposes:
    by_purpose: dict[str, list[str]] = {}
    for role, needs in roles.items():
        for need in needs:
            by_purpose.setdefault(need, []).append(role)
    return {need: tuple(names) for need, names in by_purpose.items()}
