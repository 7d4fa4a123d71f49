"""Rollback: after a failure, what this run changed goes back to what was there before, last change
first."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from playrunner.errors import PlayrunnerError
from playrunner.results import HIDDEN
from playrunner.ssh.agent_code import Seat
from playrunner.ssh.agents import Agents
from playrunner.ssh.dispatcher import Courier
from playrunner.ssh.file_uploads import Shipments
from playrunner.ssh.pool import Pool


@dataclass(frozen=True)
class Undo:
    """One change and the way back."""

    host: str
    step: str
    seat: Seat
    module: str
    request: dict[str, Any]
    before: dict[str, Any] | None
    hidden: bool = False  # no_log


def roll_back(changes: Sequence[Undo], say: Callable[[str, str, str], None]) -> int:
    """Take the changes back; says one line each (status, host, step) and returns how many could not
    be."""
    pool = Pool(warns=False)  # the run itself has said what there is to say
    agents = Agents(pool)
    failures = 0
    try:
        for undo in reversed(changes):
            courier = Courier(agents, Shipments(), lambda text: None)
            try:
                request = {**undo.request, "restore": undo.before, "halt": False}
                request.pop("group", None)
                values = courier.wait(courier.send(undo.seat, undo.module, request))
                courier.release()
            except PlayrunnerError as error:
                values = {"failed": True, "msg": str(error)}
            failed = bool(values.get("failed"))
            failures += failed
            why = HIDDEN if undo.hidden else values.get("msg")
            say(
                "failed" if failed else "restored",
                undo.host,
                f"{undo.step}: {why}" if failed else undo.step,
            )
    finally:
        agents.close()
        pool.close()
    return failures
