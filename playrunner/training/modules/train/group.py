"""train.group: the processes of one run on one node, under a supervisor that outlives the
connection."""

from __future__ import annotations

import json
import os
import signal
import time
from dataclasses import asdict

from playrunner.hostside.module import Failed, Module
from playrunner.training.modules.train import _processes, _runs, _waiting
from playrunner.training.modules.train._start_order import StartOrder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Literal, Optional

    from playrunner.hostside.host_context import HostContext
    from playrunner.hostside.state import Change, State

_OF_EARLIER_LAUNCH = (
    "supervisor.json",
    "keeper.json",
    "lease",
    "gate.json",
    "go",
    "ended.json",
    "stop",
    "guard.jsonl",
)
_START_SECONDS = 30.0  # a supervisor reports after 0.1 s; on a node that swaps it may take longer


class Group(Module):
    """The processes of one run on one node: running under a supervisor, or stopped with none
    left."""

    run: str  # the run's folder on the node
    host: str  # the node's name in the run
    state: Literal["running", "stopped"] = "running"  # what should be
    run_id: str = ""  # which attempt of the run; a finished one with another id is started again
    python: str = ""  # the interpreter of the supervisor
    code: str = ""  # the folder with the trainer's code
    told: dict[str, Any] = {}  # the supervisor's start order: commands, environment, link, lease
    sees: list[str] = []  # the nodes that see the same folder, this one included
    grace_seconds: float = 30.0  # what the processes get to save and end

    def observe(self, ctx: HostContext) -> Optional[State]:
        supervisor = _runs.supervisor_of(self._folder(), self.host)
        if not supervisor:
            return None
        return {
            "state": supervisor["state"],
            "run_id": supervisor.get("run_id"),
            "supervisor": supervisor,
        }

    def desired(self, ctx: HostContext, found: Optional[State]) -> Optional[State]:
        if self.state == "stopped":
            if found is None:
                return None
            still = found["state"] in ("running", "stopping") or _runs.marked(
                found["supervisor"].get("mark", "")
            )
            return {"state": "stopped"} if still else {"state": found["state"]}
        if found and found["state"] in ("running", "stopping"):
            if found["run_id"] != self.run_id:
                raise Failed(
                    f"run {found['run_id']} is already {found['state']} on this node (supervisor"
                    " pid"
                    f" {found['supervisor'].get('pid')}); stop it first, or use --replace"
                )
            return {"state": found["state"], "run_id": self.run_id}
        return {"state": "running", "run_id": self.run_id}

    def apply(self, ctx: HostContext, change: Change) -> None:
        if change.after and change.after["state"] == "running":
            self._start(ctx)
        else:
            self._stop(change.observed or {})

    def returns(self, ctx: HostContext, change: Change) -> dict[str, Any]:
        return {"supervisor": _runs.supervisor_of(self._folder(), self.host)}

    def _folder(self) -> str:
        return os.path.expanduser(self.run)

    def _start(self, ctx: HostContext) -> None:
        folder = os.path.join(self._folder(), "nodes", self.host)
        os.makedirs(folder, exist_ok=True)
        for name in _OF_EARLIER_LAUNCH:
            if os.path.exists(os.path.join(folder, name)):
                os.unlink(os.path.join(folder, name))
        draft = os.path.join(folder, f".start.{os.getpid()}")
        with open(draft, "w") as file:
            order = StartOrder(**_runs.at_home(self.told))
            json.dump({**asdict(order), "sees": self.sees}, file)
        os.rename(draft, os.path.join(folder, "start.json"))
        mark = f"{self.run_id}/{self.host}"
        open(os.path.join(folder, "supervisor.err"), "wb").close()
        process = _waiting.begin(mark, ctx) or self._supervisor(folder, mark)
        deadline = time.monotonic() + _START_SECONDS
        while not os.path.exists(os.path.join(folder, "supervisor.json")):
            if process.poll() is not None or time.monotonic() > deadline:
                with open(os.path.join(folder, "supervisor.err"), errors="replace") as err_text:
                    raise Failed(f"the supervisor did not start: {err_text.read().strip()[-500:]}")
            time.sleep(0.01)

    def _supervisor(self, folder: str, mark: str) -> Any:
        import subprocess

        with open(os.path.join(folder, "supervisor.err"), "wb") as err:
            return subprocess.Popen(
                [
                    os.path.expanduser(self.python),
                    "-m",
                    "trainer.node.supervisor",
                    self._folder(),
                    self.host,
                ],
                cwd=self._folder(),
                stdin=subprocess.DEVNULL,
                stdout=err,
                stderr=err,
                start_new_session=True,
                env={
                    **os.environ,
                    "PYTHONPATH": os.path.expanduser(self.code),
                    "PLAYRUNNER_RUN": mark,
                },
            )

    def _stop(self, found: State) -> None:
        supervisor = found["supervisor"]
        mark = supervisor.get("mark", "")
        if mark:
            _runs.note_ended(
                self._folder(),
                self.host,
                {str(pid): _processes.started(pid) for pid in _runs.marked(mark)},
            )
        if _runs.is_alive(supervisor):
            os.kill(supervisor["pid"], signal.SIGTERM)
            deadline = time.monotonic() + self.grace_seconds + 10
            while _runs.is_alive(supervisor) and time.monotonic() < deadline:
                time.sleep(0.05)
        # What a dead or hung supervisor left behind: exactly the processes that
        # carry this run's mark.
        for how in (signal.SIGTERM, signal.SIGKILL):
            deadline = time.monotonic() + 3
            left = _runs.marked(mark) if mark else []
            for pid in left:
                try:
                    os.kill(pid, how)
                except OSError:
                    pass
            while left and _runs.marked(mark) and time.monotonic() < deadline:
                time.sleep(0.05)
        left = _runs.marked(mark) if mark else []
        if left:
            raise Failed(f"processes of this run do not end: {left}", left=left)
