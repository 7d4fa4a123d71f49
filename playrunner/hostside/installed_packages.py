"""Installed packages that modules import, kept imported in the process that forks for each module.

Travels to hosts with module_server, so: the standard library only, Python 3.9.
"""

from __future__ import annotations

import importlib
import os
import sys

INSTALLED = ("/site-packages/", "/dist-packages/")


class Installed:
    """Installed packages that modules import, kept imported for the modules that follow."""

    def __init__(self) -> None:
        self.names: list[str] = []
        self.folders: dict[str, int] = {}
        self.tried: set[tuple[str, tuple[str, ...]]] = set()

    def preload(self, imports: list[tuple[str, tuple[str, ...]]]) -> None:
        """Import what the module is about to import."""
        before = set(sys.modules)
        for wanted in imports:
            if wanted in self.tried:
                continue
            self.tried.add(wanted)
            try:
                __import__(wanted[0], {}, {}, wanted[1])
            except (
                Exception,
                SystemExit,
            ):  # the module finds out itself and says so
                continue
        self.load(newly_imported(before))

    def load(self, names: list[str]) -> None:
        for name in names:
            try:
                importlib.import_module(name)
            except (Exception, SystemExit):  # it could only be imported by the module that did
                continue
            file = getattr(sys.modules.get(name), "__file__", None) or ""
            self.names.append(name)
            for part in INSTALLED:
                if part in file:
                    folder = file[: file.index(part) + len(part)]
                    self.folders.setdefault(folder, os.stat(folder).st_mtime_ns)

    def check(self) -> None:
        """Forget them if packages were installed or removed since."""
        if all(_modified(folder) == at for folder, at in self.folders.items()):
            return
        for name in self.names:
            sys.modules.pop(name, None)
        importlib.invalidate_caches()
        self.names, self.folders, self.tried = [], {}, set()


def _modified(folder: str) -> int:
    try:
        return os.stat(folder).st_mtime_ns
    except OSError:
        return 0


def newly_imported(before: set[str]) -> list[str]:
    """Modules of installed packages, in the order of their import."""
    return [
        name
        for name, module in list(sys.modules.items())
        if name not in before
        and any(part in (getattr(module, "__file__", None) or "") for part in INSTALLED)
        and name.split(".")[0] not in ("ansible", "ansible_collections")
    ]
