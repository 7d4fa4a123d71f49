"""Processes that measure together and share a machine load their libraries once: the first loads,
the others are its forks.

Eight ranks of one machine would otherwise spend most of a gate on loading the same library eight
times over. Whoever comes first opens a socket that only this network namespace and user can reach,
loads, and forks a process for each who asks there, in the place of that one: its arguments,
environment, folder and output. Everybody keeps a process of its own, which ends with whoever
started it. Where anything of that cannot be had, each loads for itself.
"""

from __future__ import annotations

import hashlib
import json
import os
import select
import signal
import socket
import struct
import sys
import threading
import warnings
from collections.abc import Callable
from typing import Any

# What decides how a library loads; processes that differ in it do not share.
_ALIKE = (
    "PYTHONPATH",
    "LD_LIBRARY_PATH",
    "LD_PRELOAD",
    "OMP_NUM_THREADS",
    "MKL_NUM_THREADS",
    "CUDA_VISIBLE_DEVICES",
    "MASTER_ADDR",
    "MASTER_PORT",
    "WORLD_SIZE",
)
# For the first one to load, on a busy machine.
_LOAD_SECONDS = float(os.environ.get("PLAYRUNNER_LOAD_SECONDS") or 60)
_LOOK_SECONDS = 0.1
_BROKEN = 1


def shared(load: Callable[[], None], work: Callable[[], int]) -> int:
    """`work` in a process that has loaded; its exit code."""
    if sys.platform != "linux":
        return _alone(load, work)
    code = _asked()
    if code is not None:
        return code
    door = socket.socket(socket.AF_UNIX)
    try:
        door.bind(_address())
        door.listen(1024)
    except OSError:  # somebody else came first, meanwhile
        code = _asked()
        return code if code is not None else _alone(load, work)
    return _Nursery(door, work).run(load)


def _alone(load: Callable[[], None], work: Callable[[], int]) -> int:
    load()
    return work()


def _address() -> str:
    """An abstract socket: it belongs to a network namespace, and is gone with its process.

    Containers that share that network do not share files or devices, so the other namespaces must
    be the same as well.
    """
    spaces = [
        os.readlink(f"/proc/self/ns/{name}")
        for name in ("mnt", "pid", "ipc", "uts", "user", "cgroup")
    ]
    parts = [sys.executable, *sys.argv[:1], *spaces, *(os.environ.get(name, "") for name in _ALIKE)]
    return (
        f"\0playrunner-{os.getuid()}-{hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:32]}"
    )


def _asked() -> int | None:
    """Have a fork of the first process do it; its exit code, or None where there is nobody who
    would."""
    with socket.socket(socket.AF_UNIX) as asking:
        asking.settimeout(_LOAD_SECONDS)
        try:
            asking.connect(_address())
            if _user_of(asking) != os.getuid():
                return None
            told = json.dumps(
                {"argv": sys.argv, "environment": dict(os.environ), "folder": os.getcwd()}
            ).encode()
            socket.send_fds(asking, [struct.pack("!I", len(told))], [1, 2])
            asking.sendall(told)
            if asking.recv(1) != b"+":
                return None
        except OSError:
            return None
        asking.settimeout(None)
        return _code(asking.recv(4))


class _Nursery:
    """The first process: it loads, then only forks, so that nothing of it is in use when it does."""

    def __init__(self, door: socket.socket, work: Callable[[], int]) -> None:
        self._door, self._work, self._children = door, work, set[int]()
        self._own, self._childs = (
            socket.socketpair()
        )  # its own fork, which does what it was started for itself

    def run(self, load: Callable[[], None]) -> int:
        """Until its own fork has ended, and all others."""
        load()
        self._fork(self._childs, None)
        self._childs.close()
        code: bytes | None = None
        while code is None or self._children:
            ready, _, _ = select.select(
                [self._door, *([self._own] if code is None else [])], [], [], _LOOK_SECONDS
            )
            if self._door in ready:
                self._take()
            if self._own in ready:
                code = self._own.recv(4)
            self._reap()
        return _code(code)

    def _take(self) -> None:
        asking, _ = self._door.accept()
        with asking:
            if _user_of(asking) != os.getuid():
                return
            asking.settimeout(_LOAD_SECONDS)
            try:
                head, files, _, _ = socket.recv_fds(asking, 4, 2)
                told = json.loads(_read(asking, struct.unpack("!I", head)[0]))
                self._fork(asking, told, tuple(files))
            except (OSError, ValueError, struct.error):
                return  # it loads for itself
            for file in files:
                os.close(file)

    def _fork(
        self, link: socket.socket, told: dict[str, Any] | None, files: tuple[int, ...] = ()
    ) -> None:
        sys.stdout.flush()
        sys.stderr.flush()
        with warnings.catch_warnings():
            warnings.simplefilter(
                "ignore", DeprecationWarning
            )  # a thread that only reads the input is no danger
            child = os.fork()
        if child:
            self._children.add(child)
            return
        self._door.close()
        self._own.close()
        os._exit(_grown(link, told, files, self._work))

    def _reap(self) -> None:
        for child in list(self._children):
            if os.waitpid(child, os.WNOHANG)[0]:
                self._children.discard(child)


def _grown(
    link: socket.socket,
    told: dict[str, Any] | None,
    files: tuple[int, ...],
    work: Callable[[], int],
) -> int:
    """A fork in the place of whoever asked for it: with it, it ends."""
    code = _BROKEN
    try:
        if told:
            for number, file in enumerate(files, start=1):
                os.dup2(file, number)
            os.environ.clear()
            os.environ.update(told["environment"])
            os.chdir(told["folder"])
            sys.argv[:] = told["argv"]
            link.sendall(b"+")
        link.settimeout(None)
        threading.Thread(target=_end_with, args=(link,), daemon=True).start()
        code = work()
        sys.stdout.flush()
        sys.stderr.flush()
        link.sendall(struct.pack("!I", code))
    except OSError:
        pass  # whoever asked is gone, and so is this
    return code


def _end_with(link: socket.socket) -> None:
    try:
        while link.recv(1):
            pass
    except OSError:
        pass
    os.kill(os.getpid(), signal.SIGKILL)


def _code(said: bytes) -> int:
    return int(struct.unpack("!I", said)[0]) if len(said) == 4 else _BROKEN


def _read(link: socket.socket, size: int) -> bytes:
    parts = b""
    while len(parts) < size:
        more = link.recv(size - len(parts))
        if not more:
            raise ConnectionAbortedError("it left")
        parts += more
    return parts


def _user_of(link: socket.socket) -> int:
    return int(
        struct.unpack(
            "3i", link.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
        )[1]
    )
