"""One run, as tables and pages show it: over SSH put together from its nodes, on a cluster from its
pods."""

from __future__ import annotations

from dataclasses import field
from typing import Any

from playrunner.frozen import frozen
from playrunner.training.runs.states import overall


@frozen
class Run:
    """One run, seen from all nodes that have a part in it."""

    name: str
    job: dict[str, Any]
    supervisors: dict[str, dict[str, Any]]  # by host
    metrics: list[dict[str, Any]] = field(default_factory=list)
    checkpoints: list[str] = field(default_factory=list)
    checkpoint_bytes: dict[str, int] = field(default_factory=dict)
    silent: tuple[str, ...] = ()  # nodes that do not answer
    processes: dict[str, int] = field(default_factory=dict)
    log_bytes: dict[str, int] = field(default_factory=dict)
    guard: list[dict[str, Any]] = field(default_factory=list)  # alerts of the ranks, oldest first

    @property
    def hosts(self) -> list[str]:
        return [node["host"] for node in self.job.get("nodes", ())] or list(self.supervisors)

    @property
    def state(self) -> str:
        """One word for all nodes: as long as one of them runs, the run is not over."""
        states = [said.get("state", "unknown") for said in self.supervisors.values()]
        if any(state in ("running", "stopping") for state in states):
            return "running" if "running" in states else "stopping"
        return overall([*states, *["unknown" for _ in self.silent]])

    @property
    def steps(self) -> int:
        return int(self.metrics[-1]["step"]) if self.metrics else 0

    @property
    def steps_in_all(self) -> int:
        """Those the profile asks for, or those that fit into its minutes once that is known; 0
        where only the user's own script knows."""
        last = self.metrics[-1].get("last_step") if self.metrics else None
        return int(last or self.job.get("steps") or 0)

    @property
    def reason(self) -> str:
        causes = [said["cause"] for said in self.supervisors.values() if said.get("cause")]
        if causes:
            return f"{causes[0]['node']}: {causes[0]['what']}"
        return next(
            (said["reason"] for said in self.supervisors.values() if said.get("reason")), ""
        )
