"""The file of kubectl's contexts: ours go in and out, all others stay as they are."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import yaml

from playrunner.hostside.module import Failed
from playrunner.kube.client import kubeconfig_shape
from playrunner.kube.kubeconfig.lock import held
from playrunner.text import atomic_write
from playrunner.text.answers import plain

_LISTS = ("clusters", "users", "contexts")
_FRAME = {"apiVersion", "kind", *_LISTS}
LOCK_SECONDS = 10  # others hold it for a moment


def place(path: str) -> Path:
    """The file that is meant; by default kubectl's own."""
    chosen = path or os.environ.get("KUBECONFIG", "").partition(os.pathsep)[0] or "~/.kube/config"
    return Path(os.path.realpath(Path(chosen).expanduser()))


def read(file: Path) -> dict[str, Any]:
    """What is in it, as ordinary values; nothing when there is no such file."""
    found: dict[str, Any] = plain(kubeconfig_shape.read(file)) if file.exists() else {}
    return found


def entry(content: dict[str, Any], kind: str, name: str) -> Any:
    """What the file says of a cluster, user or context of this name."""
    found = next((one for one in content.get(f"{kind}s") or () if one.get("name") == name), None)
    return None if found is None else found.get(kind)


def put(content: dict[str, Any], kind: str, name: str, value: Any) -> None:
    """Add, replace or (with None) take out one entry; the others keep their places."""
    listed = list(content.get(f"{kind}s") or ())
    at = next((index for index, one in enumerate(listed) if one.get("name") == name), len(listed))
    listed[at : at + 1] = [] if value is None else [{"name": name, kind: value}]
    content[f"{kind}s"] = listed


@contextmanager
def editing(file: Path) -> Iterator[dict[str, Any]]:
    """The file's content, written back when the block ends: whole or not at all, for its owner's
    eyes only."""
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    lock = Path(f"{file}.lock")
    try:
        with held(lock, LOCK_SECONDS):
            content = {"apiVersion": "v1", "kind": "Config", **read(file)}
            yield content
            if set(content) <= _FRAME and not any(content.get(kind) for kind in _LISTS):
                file.unlink(missing_ok=True)  # nothing is left in it
            else:
                atomic_write.write_text(file, yaml.safe_dump(content, sort_keys=False), mode=0o600)
    except TimeoutError:
        raise Failed(
            f"{lock} is there, so another program writes the file; if none does, delete {lock}"
        ) from None
