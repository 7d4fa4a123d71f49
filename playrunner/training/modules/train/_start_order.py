"""What a node's supervisor gets when it starts: planned on the controller, written to
start.json."""

from __future__ import annotations

from dataclasses import dataclass, field

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


@dataclass(frozen=True)
class StartOrder:
    run_id: str  # which attempt of the run
    host: str  # this node's name in the run
    node_rank: int
    token: str  # the file with the token that nodes authenticate with
    environment: str  # the file with the processes' variables
    others: list[str]  # all nodes but the first
    nodes: list[str]
    link: dict[str, Any]  # address and port at which the first node hears from the others
    detached: bool
    lease_seconds: float  # an attached run ends this long after the controller was last heard
    silence_seconds: float  # a node counts as lost this long after its last heartbeat
    join_seconds: float  # for all nodes to have started
    grace_seconds: float  # for the processes to save and end
    elastic_min: int  # the least nodes of an elastic run; 0 where their number is fixed
    max_restarts: int = 0  # of the whole run, after a process has failed
    restarts_per_hour: int = 6
    commands: list[dict[str, Any]] = field(default_factory=list)  # argv, environment, label
    secrets: bool = False  # secrets.json beside start.json has more variables
    script: bool = False  # a program of the user's own: its output is searched for metrics
