"""Packages as states: name to installed version, None where a package is not installed."""

from __future__ import annotations

import os

from playrunner.hostside.module import Failed, Module

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Optional

    from playrunner.hostside.state import Change, State

PROGRAM_FOLDERS = ("/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin")


class Packages(Module):
    """What all package managers have in common: which packages go, which come, and what is said
    about it."""

    def names(self) -> list[str]:
        raise NotImplementedError

    def coming_and_going(self, change: Change) -> tuple[dict[str, str], list[str]]:
        """Packages to install, with the version wanted, and packages to remove."""
        before: State = (change.before or {}).get("packages", {})
        after: State = (change.after or {}).get("packages", {})
        coming = {
            name: target
            for name, target in after.items()
            if target is not None and target != before.get(name)
        }
        return coming, [
            name
            for name, target in after.items()
            if target is None and before.get(name) is not None
        ]


def program(*names: str) -> Optional[str]:
    """The first of these programs that the host has, also where a login's PATH leaves out sbin."""
    for name in names:
        for folder in (*os.environ.get("PATH", "").split(os.pathsep), *PROGRAM_FOLDERS):
            path = os.path.join(folder, name)
            if folder and os.access(path, os.X_OK) and not os.path.isdir(path):
                return path
    return None


def needed(name: str, why: str) -> str:
    """The path of a program the host must have."""
    path = program(name)
    if path is None:
        raise Failed(f'Failed to find required executable "{name}" on this host: {why}')
    return path


def named(given: Any) -> list[str]:
    """Package names, also those in one text separated by commas."""
    return [name.strip() for item in given or [] for name in str(item).split(",") if name.strip()]
