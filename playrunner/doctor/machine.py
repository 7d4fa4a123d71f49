"""Asking a machine, this one or a host of the inventory, with one probe for all that the checks
want to know."""

from __future__ import annotations

import base64
import json
import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from playrunner.doctor import probe
from playrunner.errors import HostUnreachable
from playrunner.ssh.connection import read_all
from playrunner.ssh.fleet import Fleet
from playrunner.ssh.limits import ANSWER_BYTES
from playrunner.text.documents import json_object

Asked = dict[str, Any]


@dataclass(frozen=True)
class Tool:
    """A program as it was found; without a path it is not there."""

    path: str
    code: int  # how it ended when it was asked for its version
    text: str  # the first line it said


@dataclass(frozen=True)
class Machine:
    """What a machine said of itself."""

    tools: dict[str, Tool]
    python: tuple[str, tuple[int, ...]]
    time: float
    free_gib: dict[str, float]
    files: dict[str, bool]
    manager: str  # apt-get, dnf, ...; nothing where none is known
    root: bool


def this_machine(asked: Asked) -> Machine:
    return _machine(probe.look(asked))


def far_machine(fleet: Fleet, host: str, asked: Asked) -> Machine:
    """The same probe, sent there: nothing needs to be installed but Python."""
    source = base64.b64encode(Path(probe.__file__).read_bytes()).decode()
    start = f"import base64,sys;exec(compile(base64.b64decode('{source}'),'probe','exec'))"
    channel = fleet.start(
        host, f"exec python3 -c {shlex.quote(start)} {shlex.quote(json.dumps(asked))}"
    )
    try:
        said, _ = read_all(channel, ANSWER_BYTES)
        code, complaint = channel.status(), channel.complaints().strip()
    finally:
        channel.close()
    if code:
        raise HostUnreachable(
            f"{host}: cannot be looked at:"
            f" {complaint.splitlines()[-1] if complaint else f'code {code}'}"
        )
    try:
        return _machine(json_object(said) or {})
    except (KeyError, TypeError, ValueError, AttributeError):
        raise HostUnreachable(
            f"{host}: cannot be looked at: what it answered is not what was asked for;"
            " check what runs as python3 on that host"
        ) from None


def _machine(said: dict[str, Any]) -> Machine:
    path, version = said["python"]
    return Machine(
        {name: Tool(**each) for name, each in said["tools"].items()},
        (path, tuple(version)),
        said["time"],
        said["free"],
        said["files"],
        said["manager"],
        said["root"],
    )
