"""A fork server for processes that measure on one machine: the first loads the libraries, the
others are its forks.

Eight ranks of one machine would otherwise spend most of a network check on importing the same
library eight times. The first process opens a socket that only this network namespace and user can
reach, imports, and forks a child for each request there, with the arguments, environment, folder
and output of the process that requested it. That process waits for its child and ends it with
itself. Where any of this is unavailable, each process imports for itself.
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

# Settings that change how a library loads; processes that differ in them do not share.
_LOAD_SETTINGS = (
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
# For the first process to import, on a busy machine.
_LOAD_SECONDS = float(os.environ.get("PLAYRUNNER_LOAD_SECONDS") or 60)
_POLL_SECONDS = 0.1
_FAILED = 1


def run_forked(load: Callable[[], None], work: Callable[[], int]) -> int:
    """Run `work` in a process where `load` was called; its exit code."""
    if sys.platform != "linux":
        return _alone(load, work)
    code = _request_fork()
    if code is not None:
        return code
    listener = socket.socket(socket.AF_UNIX)
    try:
        listener.bind(_address())
        listener.listen(1024)
    except OSError:  # another process was first
        code = _request_fork()
        return code if code is not None else _alone(load, work)
    return ForkServer(listener, work).run(load)


def _alone(load: Callable[[], None], work: Callable[[], int]) -> int:
    load()
    return work()


def _address() -> str:
    """An abstract socket: it belongs to a network namespace and disappears with its process.

    Containers that share a network do not share files or devices, so the other namespaces are part
    of the name.
    """
    namespaces = [
        os.readlink(f"/proc/self/ns/{name}")
        for name in ("mnt", "pid", "ipc", "uts", "user", "cgroup")
    ]
    parts = [
        sys.executable,
        *sys.argv[:1],
        *namespaces,
        *(os.environ.get(name, "") for name in _LOAD_SETTINGS),
    ]
    return (
        f"\0playrunner-{os.getuid()}-{hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:32]}"
    )


def _request_fork() -> int | None:
    """The exit code of a child that the fork server runs for us; None where there is no server."""
    with socket.socket(socket.AF_UNIX) as client:
        client.settimeout(_LOAD_SECONDS)
        try:
            client.connect(_address())
            if _user_of(client) != os.getuid():
                return None
            request = json.dumps(
                {"argv": sys.argv, "environment": dict(os.environ), "folder": os.getcwd()}
            ).encode()
            socket.send_fds(client, [struct.pack("!I", len(request))], [1, 2])
            client.sendall(request)
            if client.recv(1) != b"+":
                return None
        except OSError:
            return None
        client.settimeout(None)
        return _exit_code(client.recv(4))


class ForkServer:
    """The first process: it imports, then only forks, so that nothing is in use during a fork."""

    def __init__(self, listener: socket.socket, work: Callable[[], int]) -> None:
        self._listener, self._work, self._children = listener, work, set[int]()
        # To the child that does this process's own work
        self._link, self._child_link = socket.socketpair()

    def run(self, load: Callable[[], None]) -> int:
        """Serve until all children have ended; the exit code of the one for this process."""
        load()
        self._fork(self._child_link, None)
        self._child_link.close()
        code: bytes | None = None
        while code is None or self._children:
            ready, _, _ = select.select(
                [self._listener, *([self._link] if code is None else [])], [], [], _POLL_SECONDS
            )
            if self._listener in ready:
                self._accept()
            if self._link in ready:
                code = self._link.recv(4)
            self._reap()
        return _exit_code(code)

    def _accept(self) -> None:
        client, _ = self._listener.accept()
        with client:
            if _user_of(client) != os.getuid():
                return
            client.settimeout(_LOAD_SECONDS)
            try:
                head, files, _, _ = socket.recv_fds(client, 4, 2)
                request = json.loads(_read(client, struct.unpack("!I", head)[0]))
                self._fork(client, request, tuple(files))
            except (OSError, ValueError, struct.error):
                return  # the client imports for itself
            for file in files:
                os.close(file)

    def _fork(
        self, link: socket.socket, request: dict[str, Any] | None, files: tuple[int, ...] = ()
    ) -> None:
        sys.stdout.flush()
        sys.stderr.flush()
        with warnings.catch_warnings():
            # A thread that only reads the input is harmless in a fork
            warnings.simplefilter("ignore", DeprecationWarning)
            child = os.fork()
        if child:
            self._children.add(child)
            return
        self._listener.close()
        self._link.close()
        os._exit(_child_main(link, request, files, self._work))

    def _reap(self) -> None:
        for child in list(self._children):
            if os.waitpid(child, os.WNOHANG)[0]:
                self._children.discard(child)


def _child_main(
    link: socket.socket,
    request: dict[str, Any] | None,
    files: tuple[int, ...],
    work: Callable[[], int],
) -> int:
    """Do the work as the process that requested it; end when that process does."""
    code = _FAILED
    try:
        if request:
            for number, file in enumerate(files, start=1):
                os.dup2(file, number)
            os.environ.clear()
            os.environ.update(request["environment"])
            os.chdir(request["folder"])
            sys.argv[:] = request["argv"]
            link.sendall(b"+")
        link.settimeout(None)
        threading.Thread(target=_exit_with, args=(link,), daemon=True).start()
        code = work()
        sys.stdout.flush()
        sys.stderr.flush()
        link.sendall(struct.pack("!I", code))
    except OSError:
        pass  # the process that requested it has ended
    return code


def _exit_with(link: socket.socket) -> None:
    try:
        while link.recv(1):
            pass
    except OSError:
        pass
    os.kill(os.getpid(), signal.SIGKILL)


def _exit_code(reply: bytes) -> int:
    return int(struct.unpack("!I", reply)[0]) if len(reply) == 4 else _FAILED


def _read(link: socket.socket, size: int) -> bytes:
    parts = b""
    while len(parts) < size:
        more = link.recv(size - len(parts))
        if not more:
            raise ConnectionAbortedError("the client disconnected")
        parts += more
    return parts


def _user_of(link: socket.socket) -> int:
    return int(
        struct.unpack(
            "3i", link.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
        )[1]
    )
