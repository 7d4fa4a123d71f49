"""Collects the facts that the checks need from this machine or a host, with one probe."""

from __future__ import annotations

import base64
import json
import shlex
from pathlib import Path
from typing import Any

from playrunner.doctor import probe
from playrunner.errors import HostUnreachable
from playrunner.frozen import frozen
from playrunner.ssh.fleet import Fleet
from playrunner.ssh.frames import read_all
from playrunner.ssh.limits import ANSWER_BYTES
from playrunner.text.documents import json_object

Query = dict[str, Any]


@frozen
class Tool:
    """A program; `path` is empty where it is not installed."""

    path: str
    code: int  # the exit code of its version command
    text: str  # the first line of its output


@frozen
class Machine:
    """The facts of one machine."""

    tools: dict[str, Tool]
    python: tuple[str, tuple[int, ...]]
    time: float
    free_gib: dict[str, float]
    files: dict[str, bool]
    manager: str  # apt-get, dnf, ...; empty where none is known
    root: bool


def this_machine(query: Query) -> Machine:
    return _machine(probe.probe_machine(query))


def remote_machine(fleet: Fleet, host: str, query: Query) -> Machine:
    """Send the same probe to a host, which needs only Python."""
    source = base64.b64encode(Path(probe.__file__).read_bytes()).decode()
    start = f"import base64,sys;exec(compile(base64.b64decode('{source}'),'probe','exec'))"
    channel = fleet.start(
        host, f"exec python3 -c {shlex.quote(start)} {shlex.quote(json.dumps(query))}"
    )
    try:
        output, _ = read_all(channel, ANSWER_BYTES)
        code, stderr = channel.status(), channel.stderr_text().strip()
    finally:
        channel.close()
    if code:
        raise HostUnreachable(
            f"{host}: the probe failed:"
            f" {stderr.splitlines()[-1] if stderr else f'exit code {code}'}"
        )
    try:
        return _machine(json_object(output) or {})
    except (KeyError, TypeError, ValueError, AttributeError):
        raise HostUnreachable(
            f"{host}: the probe's answer is not valid; check what runs as python3 on that host"
        ) from None


def _machine(facts: dict[str, Any]) -> Machine:
    path, version = facts["python"]
    return Machine(
        {name: Tool(**fields) for name, fields in facts["tools"].items()},
        (path, tuple(version)),
        facts["time"],
        facts["free"],
        facts["files"],
        facts["manager"],
        facts["root"],
    )
