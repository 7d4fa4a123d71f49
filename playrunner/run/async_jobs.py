"""async and poll: a job that goes on in the background of a host, asked about until it ends."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from playrunner.model import Step
from playrunner.playbook import keyword_values
from playrunner.run.inflight import LoopItem
from playrunner.ssh.agent_code import AgentKey
from playrunner.ssh.dispatcher import AgentDispatcher


class AsyncJobs:
    """Polls the jobs of one host's steps."""

    def __init__(self, dispatcher: AgentDispatcher, sleep: Callable[[float], None]) -> None:
        self._dispatcher, self._sleep = dispatcher, sleep

    def poll(self, step: Step, item: LoopItem, key: AgentKey) -> None:
        """Ask for the job's state every `poll` seconds; its final result becomes the item's."""
        interval = keyword_values.number("poll", step.poll, item.scope, step.place)
        if interval <= 0 or not item.values:
            return
        job, waited = item.values["ansible_job_id"], 0.0
        limit = keyword_values.number("async", step.async_seconds, item.scope, step.place)
        while not item.values.get("finished"):
            if waited > limit + interval:
                item.values = {
                    "failed": True,
                    "changed": False,
                    "msg": f"not finished within {limit:g} seconds",
                    "ansible_job_id": job,
                    "started": True,
                    "finished": False,
                }
                return
            self._sleep(interval)
            waited += interval
            item.values = self._status(item, key, {"jid": job})
            ended = ("failed",) if item.values.get("finished") else ()
            item.polls.append(
                {
                    name: item.values.get(name)
                    for name in ("ansible_job_id", "started", "finished", *ended)
                }
            )
        self._status(item, key, {"jid": job, "mode": "cleanup"})

    def _status(self, item: LoopItem, key: AgentKey, arguments: dict[str, Any]) -> dict[str, Any]:
        assert item.agent_request
        environment = item.agent_request.request.get("env", {})
        request = {"args": arguments, "halt": False, "env": environment}
        return dict(self._dispatcher.wait(self._dispatcher.send(key, "host.async_status", request)))
