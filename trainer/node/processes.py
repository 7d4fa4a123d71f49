"""The processes of a run on this node: recognised by a mark in their environment, also after they
leave their process group."""

from __future__ import annotations

import ctypes
import os
import selectors
import signal
import subprocess
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

MARK = "PLAYRUNNER_RUN"  # every process of a run carries it, with the run's id and node
_PROC = Path("/proc")
_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER = 1, 36


def adopt_orphans() -> None:
    """Become the parent of orphaned descendants, so that their end is seen (Linux)."""
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)


def end_with_parent() -> None:
    """Called in a child: it gets SIGTERM when its parent dies (Linux)."""
    _prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)


def start(
    argv: list[str], folder: Path, environment: dict[str, str], stdin: int = subprocess.DEVNULL
) -> subprocess.Popen[bytes]:
    """A process of the run, in a session of its own, its output on a pipe."""
    return subprocess.Popen(
        argv,
        cwd=folder,
        env=environment,
        stdin=stdin,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
        preexec_fn=end_with_parent,
    )


def wake_on_signals(selector: selectors.BaseSelector, on_sigterm: Callable[..., None]) -> None:
    """A signal ends the selector's wait; SIGTERM also calls its handler."""
    reader, writer = os.pipe()
    for end in (reader, writer):
        os.set_blocking(end, False)
    signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    selector.register(reader, selectors.EVENT_READ, None)
    signal.signal(signal.SIGTERM, on_sigterm)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    signal.signal(signal.SIGCHLD, lambda *_: None)


def reaped(running: dict[int, str]) -> Iterator[tuple[str, int]]:
    """The labels and exit codes of processes that have ended; they are no longer running."""
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            # Only this process may reap them; if another did, they have ended all the same
            while running:
                yield running.popitem()[1], -signal.SIGKILL
            return
        if not pid:
            return
        label = running.pop(pid, None)
        if label is not None:
            yield label, os.waitstatus_to_exitcode(status)


def marked(mark: str) -> set[int]:
    """Every living process of this run on this node."""
    entry, pids = f"{MARK}={mark}".encode(), set()
    for folder in _PROC.glob("[0-9]*"):
        if entry in _environment(folder) and _state(folder) != "Z":
            pids.add(int(folder.name))
    return pids - {os.getpid()}


def ranks_among(pids: Iterable[int]) -> set[int]:
    """Those that train: a launcher has no RANK of its own, what it starts has. What a rank itself
    starts, as workers that load its data, is the rank's to end."""
    ranked = {
        pid
        for pid in pids
        if any(entry.startswith(b"RANK=") for entry in _environment(_PROC / str(pid)))
    }
    return {pid for pid in ranked if _parent(pid) not in ranked}


def signal_all(pids: Iterable[int], how: signal.Signals) -> None:
    for pid in pids:
        try:
            os.kill(pid, how)
        except OSError:
            pass  # it has ended


def end_all(mark: str, patience: float) -> int:
    """SIGTERM, then SIGKILL after `patience` seconds; returns how many had to be killed."""
    signal_all(marked(mark), signal.SIGTERM)
    deadline = time.monotonic() + patience
    while marked(mark) and time.monotonic() < deadline:
        time.sleep(0.05)
    stubborn = marked(mark)
    while left := marked(mark):  # one may start another while it is being killed
        signal_all(left, signal.SIGKILL)
        time.sleep(0.02)
    return len(stubborn)


def _parent(pid: int) -> int:
    try:
        text = (_PROC / str(pid) / "stat").read_text(errors="replace")
    except OSError:
        return 0
    return int(text.rpartition(")")[2].split()[1])


def _environment(folder: Path) -> list[bytes]:
    try:
        return (folder / "environ").read_bytes().split(b"\0")
    except OSError:
        return []


def _state(folder: Path) -> str:
    try:
        return (folder / "stat").read_text(errors="replace").rpartition(")")[2].split()[0]
    except OSError:
        return "Z"


def _prctl(option: int, value: int) -> None:
    try:
        ctypes.CDLL(None).prctl(option, value, 0, 0, 0)
    except (AttributeError, OSError):
        pass  # not Linux
