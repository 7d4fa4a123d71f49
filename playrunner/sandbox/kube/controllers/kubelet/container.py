"""One run of a container: a process, its log, and how it ended."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from playrunner.sandbox import state
from playrunner.sandbox.kube.controllers.framework.controller_context import now
from playrunner.sandbox.kube.controllers.framework.process import POD_MARK
from playrunner.sandbox.kube.controllers.kubelet.launch import WAITING
from playrunner.sandbox.kube.controllers.kubelet.mount_namespace import (
    MountNamespace,
    namespaces_allowed,
)

# In the environment of each of its processes: which run of which container it belongs to
MARK = "PLAYRUNNER_SANDBOX_CONTAINER"
START_SECONDS = 20.0  # on a machine that is very busy
_CHUNK = 65536
_LONGEST_LINE = 65536


@dataclass(frozen=True)
class Ended:
    """How a run ended."""

    code: int
    reason: str  # Completed, Error, OOMKilled, StartError
    started: str
    finished: str


class ContainerRun:
    """Started when it is made; `ended` is set once all of it is gone and its log is whole."""

    def __init__(
        self,
        mounts: MountNamespace,
        command: list[str],
        log: Path,
        mark: str,
        root: Path,
        on_end: Callable[[], None],
    ) -> None:
        """`mark` is unlike that of any other run; `root` is the sandbox's folder."""
        self.mounts, self.log = mounts, log
        self.ended: Ended | None = None
        self.started = now()
        self._mark, self._on_end = mark, on_end
        self._why = ""
        environment = {**mounts.variables(), POD_MARK: str(root), MARK: mark}
        with open(log, "wb"):
            pass  # there from the start, for those who follow it
        self._process = _started(mounts, command, environment)
        self._pump = threading.Thread(target=self._keep_log, name=f"log {mark}", daemon=True)
        self._pump.start()
        threading.Thread(target=self._wait, name=f"wait {mark}", daemon=True).start()

    def terminate(self) -> None:
        """Ask its first process to end, as a kubelet does."""
        with suppress(ProcessLookupError):
            os.kill(self._process.pid, signal.SIGTERM)

    def kill(self, why: str = "") -> None:
        """End it at once; `why` becomes the reason in its status."""
        if self.ended is None:
            self._why = why
            with suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._end_rest()

    def _wait(self) -> None:
        code = self._process.wait()
        self._end_rest()  # what the first process leaves behind goes with it
        self._pump.join()
        code = 128 - code if code < 0 else code
        reason = self._why or ("Completed" if code == 0 else "Error")
        self.ended = Ended(code, reason, self.started, now())
        self._on_end()

    def _end_rest(self) -> None:
        left = state.with_environment({f"{MARK}={self._mark}"})
        while left:
            for pid in left:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            time.sleep(0.01)
            still = state.with_environment({f"{MARK}={self._mark}"}) - {self._process.pid}
            left = {pid for pid in still if state.command_of(pid)}

    def _keep_log(self) -> None:
        assert self._process.stdout is not None
        rest = b""
        with open(self.log, "ab", buffering=0) as file, self._process.stdout as pipe:
            while data := os.read(pipe.fileno(), _CHUNK):
                stamp = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ ").encode()
                *lines, rest = (rest + data).split(b"\n")
                if len(rest) > _LONGEST_LINE:
                    lines, rest = [*lines, rest], b""
                if lines:
                    file.write(b"".join(stamp + line + b"\n" for line in lines))
            if rest:
                file.write(
                    datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ ").encode() + rest + b"\n"
                )


def _started(
    mounts: MountNamespace, command: list[str], environment: dict[str, str]
) -> subprocess.Popen[bytes]:
    """The process, once it is the program that was asked for and no longer what prepares its
    surroundings."""
    reading, writing = os.pipe()
    try:
        process = subprocess.Popen(
            mounts.command(command),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env={**environment, **({WAITING: str(writing)} if namespaces_allowed() else {})},
            pass_fds=[writing] if namespaces_allowed() else [],
            cwd=mounts.start_folder(),
            start_new_session=True,
        )
        os.close(writing)
        select.select([reading], [], [], START_SECONDS)
    finally:
        os.close(reading)
    return process
