"""The controllers as a background process: start it beside an API that is up, look at it, end it
with all that runs in pods."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

from playrunner.sandbox import state
from playrunner.sandbox.state import SandboxError

START_SECONDS, END_SECONDS = 60.0, 20.0
MODULE = "playrunner.sandbox.kube.controller_manager"
# In the environment of every process of a pod: the folder it belongs to
POD_MARK = "PLAYRUNNER_SANDBOX_PODS"


def up(kubeconfig: Path, folder: Path) -> int:
    """Bring it up, or keep it when it runs; returns its process once nodes are there."""
    running = processes(folder)
    if running:
        return min(running)
    ready_file(folder).unlink(missing_ok=True)
    command = [
        sys.executable,
        "-m",
        MODULE,
        "--kubeconfig",
        str(kubeconfig),
        "--folder",
        str(folder),
    ]
    parent = str(Path(__file__).parents[5])
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(filter(None, [parent, os.environ.get("PYTHONPATH")])),
    }
    with open(log_file(folder), "ab") as log:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            env=environment,
            start_new_session=True,
            cwd=folder,
        )
    state.await_that(
        lambda: ready_file(folder).exists() or process.poll() is not None, START_SECONDS
    )
    if not ready_file(folder).exists():
        raise SandboxError(f"the cluster's controllers did not start; see {log_file(folder)}")
    return process.pid


def down(folder: Path) -> None:
    """End it, and whatever runs in pods."""
    state.end(processes(folder))
    end_pods(folder)
    ready_file(folder).unlink(missing_ok=True)


def end_pods(folder: Path) -> None:
    """End every process of a pod of this folder, also those that one of them starts meanwhile."""
    ours = state.own_line()

    def none_left() -> bool:
        left = {
            pid
            for pid in state.with_environment({f"{POD_MARK}={folder}"}) - ours
            if state.command_of(pid)
        }
        for pid in left:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        return not left

    if not state.await_that(none_left, END_SECONDS):
        raise SandboxError(
            f"processes of pods did not stop; look for {POD_MARK}={folder} in /proc/*/environ"
        )


def processes(folder: Path) -> set[int]:
    """Only our own: the process that keeps its files in this folder."""
    return {
        pid
        for pid, command in state.commands().items()
        if f"-m {MODULE} " in command and command.endswith(f"--folder {folder}")
    }


def ready_file(folder: Path) -> Path:
    """There once the controllers are at work: the address of their control server."""
    return folder / "controllers.json"


def log_file(folder: Path) -> Path:
    return folder / "controllers.log"
