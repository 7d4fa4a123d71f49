"""Training processes that begin with torch imported: importing it takes longer than a few steps.

`python -m tests.support.trainer.fork_server`, with a Unix socket as standard input, imports torch,
nothing of the trainer, and forks a process for each message it gets: the process runs a module from
its beginning, as `python -m` does, with the environment of the message and the file sent with it as
its output. Each is handed to the caller as a child of its own.
"""

from __future__ import annotations

import ctypes
import functools
import json
import os
import runpy
import socket
import subprocess
import sys
import threading
from typing import Any

_SUBREAPER = 36  # PR_SET_CHILD_SUBREAPER
_LIMIT = 1 << 20  # of a message: an environment and a command line


class Forked(subprocess.Popen[str]):
    """A forked process; waited for and killed as any other."""

    def __init__(self, module: str, arguments: list[str], environment: dict[str, str]) -> None:
        self.args = [module, *arguments]
        self.stdin = self.stderr = None
        self.returncode: int | None = None
        # What subprocess itself sets, and uses in communicate() and wait()
        self.text_mode, self.encoding, self.errors = True, None, None
        self._input = None
        self._communication_started = False
        self._child_created = True
        self._sigint_wait_secs = 0.25
        self._closed_child_pipe_fds = True
        self._waitpid_lock = threading.Lock()
        reading, writing = os.pipe()
        self.stdout = open(reading)  # noqa: SIM115  it is closed as that of any Popen
        message = {"module": module, "arguments": arguments, "environment": environment}
        try:
            self.pid = _adopted(json.dumps(message).encode(), writing)
        finally:
            os.close(writing)


def _adopted(message: bytes, output: int) -> int:
    """The id of the new process, whose parent has ended: it becomes this process's child."""
    _prctl(1)
    try:
        server = _server()
        socket.send_fds(server, [message], [output])
        return int(server.recv(64))
    finally:
        _prctl(0)  # orphans of other processes are not for this one


def _prctl(value: int) -> None:
    if ctypes.CDLL(None, use_errno=True).prctl(_SUBREAPER, value, 0, 0, 0):
        raise OSError(ctypes.get_errno(), "prctl")


@functools.cache
def _server() -> socket.socket:
    """One for this process; it ends with it, at the end of its standard input."""
    here, there = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    here.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _LIMIT)
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    subprocess.Popen([sys.executable, "-m", __name__], stdin=there, env=environment)
    there.close()
    return here


def main() -> None:
    import torch
    import torch._dynamo
    import torch.distributed.checkpoint  # noqa: F401

    assert len(os.listdir("/proc/self/task")) == 1, "only one thread goes on after a fork"
    assert not any(name.partition(".")[0] == "trainer" for name in sys.modules)
    asked = socket.socket(fileno=os.dup(0))
    while True:
        message, files, _, _ = socket.recv_fds(asked, _LIMIT, 1)
        if not message:
            return
        child, own = os.pipe()
        if not (between := os.fork()):
            if not (pid := os.fork()):
                asked.detach()  # its number is closed with all others, and may be used again
                _run(json.loads(message), files[0])
            os.write(own, str(pid).encode())
            os._exit(0)
        os.waitpid(between, 0)
        asked.send(os.read(child, 64))
        for file in (child, own, *files):
            os.close(file)


def _run(message: dict[str, Any], output: int) -> None:
    """The module, from its first line; what it raises ends the process as it does any Python."""
    os.dup2(output, 1)
    os.dup2(output, 2)
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.closerange(3, 256)
    os.environ.clear()
    os.environ.update(message["environment"])
    sys.argv = [message["module"], *message["arguments"]]
    runpy.run_module(message["module"], run_name="__main__", alter_sys=True)
    sys.exit()


if __name__ == "__main__":
    main()
