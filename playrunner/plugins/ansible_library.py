"""ansible-core as a library: imported when the first plugin of a collection needs it."""

from __future__ import annotations

import importlib
import os
import threading
from typing import Any

from playrunner import project
from playrunner.errors import BadInput
from playrunner.plugins import collections, folders

_lock = threading.RLock()  # hosts run in threads, and Ansible's loaders are made for one
_prepared = False


def is_installed() -> bool:
    return collections.ansible_folder() is not None


def loader(kind: str) -> Any:
    """Ansible's loader of a kind of plugin, with every folder and collection known here."""
    global _prepared
    with _lock:
        if not is_installed():
            raise BadInput(
                f"plugins of Ansible need ansible-core beside this program:"
                f" {project.install_extra('ansible')}"
            )
        # About the plugins' own code, which the user of a collection cannot change
        os.environ.setdefault("ANSIBLE_DEPRECATION_WARNINGS", "False")
        loader_module = importlib.import_module("ansible.plugins.loader")
        if not _prepared:
            roots = [str(root.parent) for root in folders.collection_roots()]
            loader_module.init_plugin_loader(roots)
            _prepared = True
        made = getattr(loader_module, f"{kind}_loader")
        for folder in folders.folders(kind):
            made.add_directory(str(folder))
        return made


def lock() -> threading.RLock:
    return _lock


def data_loader(folder: str) -> Any:
    """Ansible's reader of files, with relative names starting from a folder."""
    made = importlib.import_module("ansible.parsing.dataloader").DataLoader()
    made.set_basedir(folder)
    return made
