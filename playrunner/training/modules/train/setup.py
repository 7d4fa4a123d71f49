"""train.setup: the command that prepares a node for a user's script, run once per content."""

from __future__ import annotations

import os

from playrunner.hostside.module import Failed, Module

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Optional

    from playrunner.hostside.host_context import HostContext
    from playrunner.hostside.state import Change, State

_TAIL_LINES = 12


class Setup(Module):
    """The command that prepares a node for a user's script, run once per node and content."""

    command: str  # for the shell, in the working folder; `python` is the run's interpreter
    marks: str  # the folder of marks of what was done
    key: str  # changes with the command and the files that it names
    host: str  # the node's name: nodes may share the folder of marks
    folder: str  # the working folder
    log: str  # the file for its output
    python: str = "python3"  # the interpreter that trains

    def observe(self, ctx: HostContext) -> Optional[State]:
        return {"done": True} if os.path.exists(self._mark()) else None

    def desired(self, ctx: HostContext, found: Optional[State]) -> State:
        return {"done": True}

    def apply(self, ctx: HostContext, change: Change) -> None:
        if change.after is None:
            os.unlink(self._mark())
            return
        import fcntl
        import subprocess

        marks, log = os.path.expanduser(self.marks), os.path.expanduser(self.log)
        os.makedirs(marks, exist_ok=True)
        programs = os.path.dirname(os.path.expanduser(self.python))
        environment = dict(os.environ)
        if programs:
            environment["PATH"] = programs + os.pathsep + environment.get("PATH", "")
        # Nodes of one machine may share an interpreter, which two installers would spoil.
        with open(os.path.join(marks, ".lock"), "w") as lock, open(log, "wb") as out:
            fcntl.flock(lock, fcntl.LOCK_EX)
            code = subprocess.call(
                ["sh", "-ec", self.command],
                cwd=os.path.expanduser(self.folder),
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
            )
        if code:
            with open(log, errors="replace") as file:
                tail = "\n".join(file.read().splitlines()[-_TAIL_LINES:])
            raise Failed(f"setup ended with code {code}: {tail}; its output is in {log}")
        with open(self._mark(), "w"):
            pass

    def returns(self, ctx: HostContext, change: Change) -> dict[str, Any]:
        return {"log": os.path.expanduser(self.log)}

    def _mark(self) -> str:
        return os.path.join(os.path.expanduser(self.marks), f"{self.key}.{self.host}")
