"""How a network check fails."""

from __future__ import annotations

from typing import TYPE_CHECKING

from playrunner.errors import PlayrunnerError

if TYPE_CHECKING:
    from trainer.netcheck.verdict import Verdict

NETWORK_BAD = 6  # the exit code


class GateClosed(PlayrunnerError):
    """The network is not what it should be: the run does not start."""

    exit_code = NETWORK_BAD

    def __init__(self, verdict: Verdict, nodes: list[str]) -> None:
        super().__init__("the network check failed: " + "; ".join(verdict.lines))
        self.verdict, self.nodes = verdict, nodes


class NotMeasured(PlayrunnerError):
    """The measuring programs did not run."""

    exit_code = NETWORK_BAD


class NoResult(PlayrunnerError):
    """The network check came to no result."""

    exit_code = NETWORK_BAD
