"""Failures of a run's processes, and which of several is the cause: when one rank dies, the others
fail because it no longer answers."""

from __future__ import annotations

import signal
import time
from collections.abc import Iterable
from typing import Any, NamedTuple

_CONSEQUENCES = (
    "connection closed by peer",
    "connection reset by peer",
    "broken pipe",
    "timed out waiting",
    "connectionreset",
    "gloo",
    "nccl",
    "distbackenderror",
    "rendezvous",
    "sigterm",
    "childfailederror",
)
_KILLED_HINT = {
    signal.SIGKILL: "killed from outside: out of memory (see the kernel's log), or by hand",
    signal.SIGSEGV: "crashed in native code",
    signal.SIGBUS: "lost its memory mapping: a full /dev/shm or a truncated file",
}

# What has failed; decided by, where `what` is for people to read.
RANK = "rank"
LAUNCHER = "launcher"  # of several ranks; its output tells how they ended
NOT_STARTED = "not-started"  # a process of the node
LOG_REFUSED = "log-refused"  # the node's log cannot be written
NODE_LOST = "node-lost"
NODE_NOT_JOINED = "node-not-joined"
FIRST_NODE_LOST = "first-node-lost"  # from the view of another node
LEASE_EXPIRED = "lease-expired"  # the controller no longer renews it
FOLDER_GONE = "folder-gone"  # the run's, from a node that answers
KINDS = (
    RANK,
    LAUNCHER,
    NOT_STARTED,
    LOG_REFUSED,
    NODE_LOST,
    NODE_NOT_JOINED,
    FIRST_NODE_LOST,
    LEASE_EXPIRED,
    FOLDER_GONE,
)

# Of each log line, so that the tail fits into a message to the other nodes
TAIL_CHARACTERS = 1000


# No dataclass: importing those takes a third of a supervisor's start, and the ranks wait for it
class Failure(NamedTuple):
    """An unexpected end of a process, or a node that no longer answers."""

    node: str
    kind: str  # one of KINDS
    what: str  # as "rank 1 ended with code 1"
    time: float
    code: int = 0  # negative: a signal's number
    tail: tuple[str, ...] = ()  # the last lines of its log

    def plain(self) -> dict[str, Any]:
        return {**self._asdict(), "tail": tuple(line[:TAIL_CHARACTERS] for line in self.tail)}

    @property
    def reason(self) -> str:
        return f"{self.node}: {self.what}"


def failure_from(message: Any) -> Failure:
    """Parse another node's failure; ValueError, TypeError or OverflowError when it is malformed."""
    if not isinstance(message, dict) or not isinstance(message.get("tail", ()), list | tuple):
        raise ValueError("malformed failure")
    when, now = float(message.get("time", 0)), time.time()
    if message.get("kind") not in KINDS:
        raise ValueError("malformed failure")
    return Failure(
        str(message.get("node")),
        str(message["kind"]),
        str(message.get("what")),
        when if when <= now else now,
        int(message.get("code", 0)),
        tuple(map(str, message.get("tail", ()))),
    )


def kind_of(label: str) -> str:
    """What the process with this label is: a rank, or a launcher of several."""
    return RANK if label.isdigit() else LAUNCHER


def ending(label: str, code: int) -> str:
    """An exit code as a sentence."""
    name = (
        "the launcher"
        if label == "node"
        else f"rank {label}"
        if label.isdigit()
        else f"ranks {label}"
    )
    if code >= 0:
        return f"{name} ended with code {code}"
    try:
        sign = signal.Signals(-code)
    except ValueError:
        return f"{name} was ended by signal {-code}"
    return f"{name} was ended by {sign.name} ({_KILLED_HINT.get(sign, 'a signal')})"


def cause(failures: Iterable[Failure]) -> Failure | None:
    """The failure that explains the others."""
    return min(failures, key=_rank, default=None)


def _rank(failure: Failure) -> tuple[int, float]:
    text = " ".join(failure.tail[-8:]).lower()
    if failure.code < 0 and failure.code != -signal.SIGTERM:
        order = 0  # this program never sends these signals
    elif any(symptom in text for symptom in _CONSEQUENCES):
        order = 2
    else:
        order = 1
    return order, failure.time
