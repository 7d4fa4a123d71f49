"""train.prepared: the ranks of a launch on one node, started ahead of it: they import what they
will need, and wait."""

from __future__ import annotations

import os

from playrunner.hostside.child_process import started
from playrunner.hostside.module import Action
from playrunner.training.modules.train import _runs, _waiting

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from playrunner.hostside.host_context import HostContext


class Prepared(Action):
    """The ranks of a launch on one node, importing while the launch is checked and staged; they end
    with the connection unless train.group starts them."""

    answers = {"pid": int}

    run: str  # the run's folder on the node
    host: str  # the node's name in the run
    run_id: str  # which attempt of the run
    python: str  # the interpreter of the supervisor
    code: str  # the folder with the trainer's code; nothing is prepared before it is there
    order: dict[str, Any]  # what the ranks will be started with, as far as it is known

    def act(self, ctx: HostContext) -> dict[str, Any]:
        code, run = os.path.expanduser(self.code), os.path.expanduser(self.run)
        there = _runs.supervisor_of(run, self.host).get("state") in ("running", "stopping")
        if there or not os.path.isdir(code):
            return {"changed": False, "pid": 0}
        import json

        process = started(
            [os.path.expanduser(self.python), "-m", "trainer.node.prepared", run, self.host],
            cwd=None,
            env={"PYTHONPATH": code, "PLAYRUNNER_RUN": f"{self.run_id}/{self.host}"},
            umask=-1,
            feeds=True,
        )
        _waiting.add(f"{self.run_id}/{self.host}", process, ctx)
        order = _runs.at_home({**self.order, "code": self.code, "run_id": self.run_id})
        process.stdin.write(json.dumps(order).encode() + b"\n")
        process.stdin.flush()
        return {"changed": False, "pid": process.pid}
