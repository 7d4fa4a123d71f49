"""What is up and where: the sandbox's folder, its lock, its files, and the processes that belong to
it."""

from __future__ import annotations

import fcntl
import os
import shutil
import signal
import stat
import subprocess
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

END_SECONDS = 2.0  # what a process gets to end by itself before it is killed
_PROC = Path("/proc")


class SandboxError(Exception):
    """The sandbox cannot do what was asked; the message says what to do next."""

    exit_code = 1


class BadRequest(SandboxError):
    """What was asked for makes no sense."""

    exit_code = 5


def default_root() -> Path:
    """The sandbox's own folder in the user's state directory."""
    home = os.environ.get("PLAYRUNNER_STATE_HOME")
    if home:
        return Path(home).expanduser().absolute() / "sandbox"
    xdg = os.environ.get("XDG_STATE_HOME")
    state = Path(xdg) if xdg else Path.home() / ".local" / "state"
    return state.absolute() / "playrunner" / "sandbox"


@contextmanager
def locked(root: Path, name: str = "lock") -> Iterator[None]:
    """Hold the folder, or a part of it, for one command at a time; makes the folder when it is
    missing."""
    lock = _hold(root, name)
    while lock is None:
        lock = _hold(root, name)
    with lock:
        yield


def _hold(root: Path, name: str) -> IO[str] | None:
    root.mkdir(parents=True, exist_ok=True, mode=0o700)
    try:
        _require_own(root)
        root.chmod(0o700)
        lock = open(root / name, "a")  # noqa: SIM115 (held by the caller)
    except FileNotFoundError:
        return None
    fcntl.flock(lock, fcntl.LOCK_EX)
    if os.fstat(lock.fileno()).st_nlink:
        return lock
    # A `down` that we waited for has taken the folder and this file away: start over in a new one.
    lock.close()
    return None


def _require_own(root: Path) -> None:
    """Secrets are kept there: a folder that another user made, or that a link of theirs leads to,
    stays theirs."""
    if root.stat().st_uid != os.geteuid():
        raise SandboxError(
            f"{root} belongs to another user; choose another folder with PLAYRUNNER_STATE_HOME"
        )
    for folder in root.resolve().parents:
        mode = folder.stat().st_mode
        if (
            mode & stat.S_IWOTH and not mode & stat.S_ISVTX
        ):  # unlike in /tmp, what is in there can be exchanged by all
            raise SandboxError(
                f"{folder} is writable by other users; fix it with: chmod o-w {folder}"
            )


def write_file(path: Path, text: str, mode: int = 0o600) -> None:
    """Put a whole file in place at once, so that a reader never meets half of one."""
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    with open(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, mode), "w") as out:
        out.write(text)
    draft.replace(path)


def remove_tree(folder: Path) -> None:
    """Remove a folder, also when something inside took its own write permission away."""
    for name, _, _ in os.walk(folder):
        with suppress(PermissionError):
            os.chmod(name, 0o700)
    shutil.rmtree(folder, ignore_errors=True)
    if folder.exists():
        raise SandboxError(f"could not remove {folder}; remove it by hand (files of another user?)")


def command_of(pid: int) -> str:
    """The command line of a process; empty when it is gone (or a zombie, which is as good as
    gone)."""
    if _PROC.is_dir():
        try:
            return (
                (_PROC / str(pid) / "cmdline")
                .read_bytes()
                .replace(b"\0", b" ")
                .decode(errors="replace")
                .strip()
            )
        except OSError:
            return ""
    return _ps("-ww", "-o", "command=", "-p", str(pid)).strip()


def commands() -> dict[int, str]:
    """The command line of every process."""
    if _PROC.is_dir():
        return {int(folder.name): command_of(int(folder.name)) for folder in _PROC.glob("[0-9]*")}
    lines = (line.split(maxsplit=1) for line in _ps("-ww", "-axo", "pid=,command=").splitlines())
    return {int(pid): command for pid, command in lines}


def descendants(pids: Iterable[int]) -> set[int]:
    """Every process below these, at any depth."""
    children: dict[int, list[int]] = {}
    for pid, parent in _parents().items():
        children.setdefault(parent, []).append(pid)
    descendant_pids: set[int] = set()
    ahead = list(pids)
    while ahead:
        fresh = set(children.get(ahead.pop(), ())) - descendant_pids
        descendant_pids |= fresh
        ahead += fresh
    return descendant_pids


def with_environment(entries: set[str]) -> set[int]:
    """Processes started with one of these `NAME=value`, wherever they have moved since; only Linux
    can tell."""
    wanted, pids = {entry.encode() for entry in entries}, set()
    for folder in _PROC.glob("[0-9]*"):
        with suppress(OSError):
            if not wanted.isdisjoint((folder / "environ").read_bytes().split(b"\0")):
                pids.add(int(folder.name))
    return pids


def own_line() -> set[int]:
    """This process and those it was started from: never to be ended by itself."""
    parents = _parents()
    line, pid = {os.getpid()}, os.getppid()
    while pid and pid not in line:
        line.add(pid)
        pid = parents.get(pid, 0)
    return line


def end(pids: Iterable[int]) -> None:
    """End these processes: asked first, then killed; returns when they are gone."""
    left = sorted(pids)
    for how in (signal.SIGTERM, signal.SIGKILL):
        for pid in left:
            with suppress(ProcessLookupError):
                os.kill(pid, how)
        left = _await_end(left)
    if left:
        raise SandboxError(
            f"these processes did not stop: {left}; inspect them with: ps -f"
            f" {' '.join(map(str, left))}"
        )


def _await_end(pids: list[int]) -> list[int]:
    await_that(lambda: not any(command_of(pid) for pid in pids), END_SECONDS)
    return [pid for pid in pids if command_of(pid)]


def await_that(holds: Callable[[], bool], seconds: float) -> bool:
    """Look until it holds or the time is over; says which."""
    deadline = time.monotonic() + seconds
    pause = 0.001
    while not holds():
        if time.monotonic() > deadline:
            return False
        time.sleep(pause)
        pause = min(pause * 1.5, 0.05)
    return True


def _parents() -> dict[int, int]:
    if not _PROC.is_dir():
        listing = _ps("-axo", "pid=,ppid=").splitlines()
        return {int(pid): int(parent) for pid, parent in map(str.split, listing)}
    parents = {}
    for folder in _PROC.glob("[0-9]*"):
        with suppress(OSError):
            # The command's name stands in parentheses and may hold spaces; the state and the parent
            # follow it.
            parents[int(folder.name)] = int(
                (folder / "stat").read_text(errors="replace").rpartition(")")[2].split()[1]
            )
    return parents


def _ps(*arguments: str) -> str:
    return subprocess.run(["ps", *arguments], check=False, capture_output=True, text=True).stdout
