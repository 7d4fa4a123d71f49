"""CloudModule: the desired state of one resource in a cloud, which takes time to create and delete
and carries an owner tag."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from playrunner.hostside.module import Failed, Module
from playrunner.hostside.state import State

if TYPE_CHECKING:
    from playrunner.cloud.owner import Owner
    from playrunner.hostside.state import Change

# In the state of a resource that is being deleted, read by modules of the resources inside it.
DELETING = "deleting"


class ResourceContext(Protocol):
    """What reconciling a resource needs of a step's context."""

    check: bool
    applied: list[Change]  # the changes asked for so far, oldest first

    @property
    def owner(self) -> Owner: ...

    @property
    def last_change(self) -> str: ...  # the operation asked for last, where that is known

    def created_at(self) -> float | None: ...

    def claim(self, looked: float, /) -> bool: ...

    def progress(self, text: str, /) -> None: ...

    def sleep(self, seconds: float, /) -> None: ...

    def refresh(self) -> None: ...


class CloudModule(Module):
    """What `playrunner.cloud.reconcile` asks of a resource, beyond observing and changing it."""

    in_background: ClassVar[bool] = True
    # The arguments needed to find the resource; all others may be unknown when it is looked for to
    # be deleted.
    identity: ClassVar[tuple[str, ...]] = ("name",)
    settle_seconds: ClassVar[float] = 300  # how long creation or deletion may take
    takes_along: ClassVar[bool] = False  # deleting it deletes what is in it
    # Asking twice makes two: no name, address or token keeps the service from it
    can_double: ClassVar[bool] = False
    # Runs take turns at its stack, by a lease in the account
    leased: ClassVar[bool] = False
    after: Any = None  # values of steps that must be there first

    def moving(self, state: State) -> str | None:
        """What the service is doing while it creates, changes or deletes the resource: the runner
        waits and shows it."""
        return None

    def broken(self, state: State) -> str | None:
        """The service's own reason why the resource will never become as declared by itself."""
        return None

    def wait_until_ready(self, ctx: Any, state: State, attempts: int) -> State:
        """Wait until a thing that is as declared can be used, where looking again and again is not
        the way to find out; its state then. `attempts`: how often it was applied before."""
        return state

    def lost_with_it(self, ctx: Any) -> list[str]:
        """What others have made that its deletion would destroy: a line for each kind."""
        return []

    def again(self, ctx: Any, state: State) -> bool:
        """Whether applying again can repair a broken one."""
        return False

    def ours(self, ctx: Any, state: State) -> bool:
        """Whether it has our owner tag."""
        raise NotImplementedError

    def whose(self, ctx: Any, state: State) -> str:
        """Why a thing that is there is not ours, as a predicate."""
        return f"is not tagged {ctx.owner.tag}"

    def kept(self, state: State) -> bool:
        """Whether it says on itself that a teardown leaves it."""
        return False

    def contents(self, ctx: Any, state: State) -> str:
        """How much is in it, as "holds 3 objects (1.0 MiB)"; empty where nothing would be lost with
        it."""
        return ""

    def label(self, state: State) -> str:
        """One short text for tables: its id."""
        return ""


class Unanswered(Failed):
    """A call was sent and no answer came: it may or may not have been done."""


class HoldsData(Failed):
    """A resource is kept because of the data in it, which only its owner can judge; a sweep keeps
    it as well."""


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
