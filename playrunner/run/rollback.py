"""Rollback: after a failure, undo the changes of this run, the last change first."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from playrunner.errors import PlayrunnerError
from playrunner.frozen import frozen
from playrunner.results import HIDDEN
from playrunner.ssh.agent_code import AgentKey
from playrunner.ssh.agents import Agents
from playrunner.ssh.dispatcher import AgentDispatcher
from playrunner.ssh.file_uploads import FileUploads
from playrunner.ssh.pool import Pool


@frozen
class Undo:
    """One change, and what it takes to undo it."""

    host: str
    step: str
    key: AgentKey
    module: str
    request: dict[str, Any]
    before: dict[str, Any] | None
    hidden: bool = False  # no_log


def roll_back(changes: Sequence[Undo], say: Callable[[str, str, str], None]) -> int:
    """Undo the changes; reports each (status, host, step) and returns how many failed."""
    pool = Pool(warns=False)  # the run itself has already printed the warnings
    agents = Agents(pool)
    failures = 0
    try:
        for undo in reversed(changes):
            dispatcher = AgentDispatcher(agents, FileUploads(), lambda text: None)
            try:
                request = {**undo.request, "restore": undo.before, "halt": False}
                request.pop("group", None)
                values = dispatcher.wait(dispatcher.send(undo.key, undo.module, request))
                dispatcher.release()
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
