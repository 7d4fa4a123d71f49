"""Module, Probe and Action: the three kinds of things a step can name.

A module answers three questions: what is there, what should be there, how does one become the
other. Its annotated class attributes are its YAML arguments; a default makes one optional, the
comment beside it is its help.

Travels to hosts, so: the standard library only, Python 3.9, and nothing that is slow to import.
"""

from __future__ import annotations

from playrunner.hostside.state import Change

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, ClassVar, Optional

    from playrunner.hostside.state import State


class Failed(Exception):
    """A step cannot do what it says; `values` join the result (rc, stdout, ...)."""

    def __init__(self, message: str, **values: Any) -> None:
        super().__init__(message)
        self.values = values


class Module:
    """The desired state of one thing."""

    # Other spellings of arguments, as Ansible accepts them: {"dest": "path"}.
    aliases: ClassVar[dict[str, str]] = {}
    # The argument that takes the text of `module: text`, for modules written in one line.
    free_form: ClassVar[Optional[str]] = None
    free_form_only: ClassVar[bool] = False  # the text is taken whole: no name=value words in it
    takes_any: ClassVar[bool] = False  # any argument name goes (set_fact)
    # The argument that names a file on the controller whose bytes (or rendered text) the host gets.
    ships: ClassVar[Optional[str]] = None
    renders: ClassVar[bool] = False
    # It talks to other machines, so every host must have done the steps before it.
    reaches_out: ClassVar[bool] = False
    # Arguments that are expressions or are rendered by the module itself.
    raw: ClassVar[tuple[str, ...]] = ()
    # It runs on the controller and touches nothing but variables, so earlier steps need not be
    # awaited.
    in_memory: ClassVar[bool] = False
    # It takes its time elsewhere (a cloud): other steps go on meanwhile, and wait only when they
    # read what it gives.
    in_background: ClassVar[bool] = False
    # Done once for all hosts of a play (pause, add_host).
    once_for_all: ClassVar[bool] = False
    # Values it returns go into the host's variables (facts).
    gives_facts: ClassVar[bool] = False
    # What it returns is the controller's own, such as the path of a file it keeps, and trusted as
    # what is written there.
    of_the_controller: ClassVar[bool] = False
    # What its result holds unless it failed, where code of the controller reads it: names with a
    # type, [type] or a mapping.
    answers: ClassVar[dict[str, Any]] = {}

    def __init__(self, **arguments: Any) -> None:
        self.__dict__.update(arguments)

    def observe(self, ctx: Any) -> State | None:
        """What is there now, or None when it is absent. Touches nothing."""
        raise NotImplementedError

    def desired(self, ctx: Any, found: State | None) -> State | None:
        """What should be there; None when the thing should be absent."""
        raise NotImplementedError

    def apply(self, ctx: Any, change: Change) -> None:
        """Bring it there: identity from `self`, content from `change`, so that one method makes,
        mends and removes."""
        raise NotImplementedError

    def returns(self, ctx: Any, change: Change) -> dict[str, Any]:
        """What `register` gets beside `changed` and `diff`."""
        return {}


class Probe(Module):
    """Only looks; never changes anything."""

    def look(self, ctx: Any) -> dict[str, Any]:
        raise NotImplementedError


class Action(Module):
    """Something done, not something that is: once per run, never repeated after a lost connection."""

    def guard(self, ctx: Any) -> dict[str, Any] | None:
        """The result when there is nothing to do (`creates` exists, say); None when it must act."""
        return None

    @property
    def foreseeable(self) -> bool:
        """Whether a passed guard means that acting will change something; otherwise --check says
        unknown."""
        return False

    def act(self, ctx: Any) -> dict[str, Any]:
        raise NotImplementedError
