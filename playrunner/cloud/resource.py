"""CloudModule: the desired state of one thing in a cloud. It takes time to come and go, and carries
an owner mark."""

from __future__ import annotations

from typing import Any, ClassVar

from playrunner.hostside.module import Failed, Module
from playrunner.hostside.state import State

GOING = "going"  # what a removal tells those who read a thing that takes along what is in it


class CloudModule(Module):
    """What `playrunner.cloud.reconcile` asks of a thing, beyond looking and changing it."""

    in_background: ClassVar[bool] = True
    # The arguments needed to find the thing; all others may be unknown when it is looked for to be
    # deleted.
    identity: ClassVar[tuple[str, ...]] = ("name",)
    settle_seconds: ClassVar[float] = 300  # how long it may take to be there, or gone
    takes_along: ClassVar[bool] = False  # what is in it goes with it
    after: Any = None  # values of steps that must be there first

    def moving(self, state: State) -> str | None:
        """What the service is doing while the thing is neither there nor gone: the runner waits and
        shows it."""
        return None

    def broken(self, state: State) -> str | None:
        """The service's own reason why the thing will never get there by itself."""
        return None

    def again(self, ctx: Any, state: State) -> bool:
        """Whether applying once more can mend a broken one."""
        return False

    def ours(self, ctx: Any, state: State) -> bool:
        """Whether our owner mark is on it."""
        raise NotImplementedError

    def label(self, state: State) -> str:
        """One short text for tables: its id."""
        return ""


class Unanswered(Failed):
    """A call was sent and no answer came: it may or may not have been done."""


class HoldsData(Failed):
    """A thing stays because of what is in it, which only its owner can judge; a sweep leaves it
    alone, too."""


class Refused(Failed):
    """A service refused a call, in its own words."""

    def __init__(
        self,
        message: str,
        code: str = "",
        *,
        in_use: bool = False,
        already: bool = False,
        not_found: bool = False,
    ) -> None:
        super().__init__(message)
        self.code, self.in_use, self.already, self.not_found = code, in_use, already, not_found
