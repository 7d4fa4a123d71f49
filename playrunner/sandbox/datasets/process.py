"""The server of stand-in data sets as a background process: start it, look at it, end it."""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from playrunner.sandbox import state
from playrunner.sandbox.datasets.__main__ import DECLARED
from playrunner.sandbox.http.background import Background

NAME = "datasets"
LOCK = "datasets-lock"
MODULE = "playrunner.sandbox.datasets"


@dataclass(frozen=True)
class Datasets:
    """Where the stand-ins are served, and which there are."""

    endpoint_url: str
    names: list[str]
    pid: int | None = None
    alive: bool = False

    def summary(self) -> dict[str, object]:
        return asdict(self)


def up(root: Path) -> Datasets:
    """Bring it up, or keep it as it is when it is healthy; returns when it answers."""
    with state.locked(root, LOCK):
        known = status(root)
        if known is not None and known.alive:
            return known
        server = _server(root)
        server.end()
        server.folder.mkdir(mode=0o700, exist_ok=True)
        # The same port as before: markers of what was staged name it.
        pid, endpoint = server.start(known.endpoint_url.rpartition(":")[2] if known else "0")
        declared = json.loads((server.folder / DECLARED).read_text())
        record = {"endpoint_url": endpoint, "datasets": declared}
        state.write_file(record_file(root), json.dumps(record, indent=2) + "\n")
        return Datasets(endpoint, sorted(declared), pid, True)


def status(root: Path) -> Datasets | None:
    """What was brought up in this folder, alive or not."""
    try:
        record = json.loads(record_file(root).read_text())
    except FileNotFoundError:
        return None
    server = _server(root)
    pids = server.processes()
    alive = bool(pids) and server.answers(record["endpoint_url"])
    names = sorted(record["datasets"])
    return Datasets(record["endpoint_url"], names, min(pids, default=None), alive)


def down(root: Path) -> None:
    """End it and remove its files; nothing to do when it is not up."""
    if not root.is_dir():
        return
    with state.locked(root, LOCK):
        _server(root).end()
        if (root / NAME).is_dir():
            state.remove_tree(root / NAME)
        record_file(root).unlink(missing_ok=True)
        (root / LOCK).unlink()
        with suppress(OSError):  # something else keeps files there
            root.rmdir()


def record_file(root: Path) -> Path:
    """Where the stand-ins are declared, for inventories to read."""
    return root / f"{NAME}.json"


def _server(root: Path) -> Background:
    return Background(root, NAME, MODULE, "the server of data sets")
