"""Module, Probe and Action: the three kinds of modules a step can name.

A module answers three questions: what is the current state, what is the desired state, how is it
changed. Its annotated class attributes are its YAML arguments; a default makes one optional, the
comment beside it is its help. An instance is a value: its arguments, set once.

Travels to hosts, so: the standard library only, Python 3.9, and nothing that is slow to import.
"""

from __future__ import annotations

from playrunner.hostside.state import Change

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, ClassVar, Optional

    from playrunner.hostside.state import State


class Failed(Exception):
    """A step failed; `values` are added to the result (rc, stdout, ...)."""

    def __init__(self, message: str, **values: Any) -> None:
        super().__init__(message)
        self.values = values


class Module:
    """The desired state of one resource (a file, a package, a cluster, ...)."""

    # Other spellings of arguments, as Ansible accepts them: {"dest": "path"}.
    aliases: ClassVar[dict[str, str]] = {}
    # Arguments that Ansible's module once had. They are in playbooks from then, and no typing
    # mistake: the step fails when its turn has come.
    former: ClassVar[tuple[str, ...]] = ()
    # The argument that takes the text of `module: text`, for modules written in one line.
    free_form: ClassVar[Optional[str]] = None
    free_form_only: ClassVar[bool] = False  # the text is one argument, without name=value words
    takes_any: ClassVar[bool] = False  # any argument name is accepted (set_fact)
    # The argument that names a file on the controller whose bytes (or rendered text) the host gets.
    ships: ClassVar[Optional[str]] = None
    renders: ClassVar[bool] = False
    # It connects to other machines, so every host must have finished the steps before it.
    reaches_out: ClassVar[bool] = False
    # Arguments that are expressions or are rendered by the module itself.
    raw: ClassVar[tuple[str, ...]] = ()
    # Arguments whose keys may be templates, beside their values.
    keyed: ClassVar[tuple[str, ...]] = ()
    # It runs on the controller and only uses variables, so it need not wait for earlier steps.
    in_memory: ClassVar[bool] = False
    # It waits for a service (a cloud): other steps run meanwhile, unless they read its result.
    in_background: ClassVar[bool] = False
    # Runs once for all hosts of a play (pause, add_host).
    once_for_all: ClassVar[bool] = False
    # Values it returns go into the host's variables (facts).
    gives_facts: ClassVar[bool] = False
    # Facts of a host module that are read under their own names, without `ansible_` before them
    # (patterns such as getent_*).
    plain_facts: ClassVar[tuple[str, ...]] = ()
    # Its result comes from the controller, such as the path of a file it keeps, and is trusted
    # like text of the playbook.
    of_the_controller: ClassVar[bool] = False
    # The fields of a successful result that the controller reads: names with a type, [type] or a
    # mapping.
    answers: ClassVar[dict[str, Any]] = {}

    def __init__(self, **arguments: Any) -> None:
        self.__dict__.update(arguments)

    def __setattr__(self, name: str, value: Any) -> None:
        """Refused: what one method finds for another goes into `ctx.memory`."""
        raise AttributeError(f"{type(self).__name__}.{name}: a module is a value and never changes")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"{type(self).__name__}.{name}: a module is a value and never changes")

    def observe(self, ctx: Any) -> State | None:
        """The current state, or None when it is absent. Changes nothing."""
        raise NotImplementedError

    def desired(self, ctx: Any, found: State | None) -> State | None:
        """The desired state; None when it should be absent."""
        raise NotImplementedError

    def apply(self, ctx: Any, change: Change) -> None:
        """Make the change: identity from `self`, content from `change`, so that one method creates,
        updates and deletes."""
        raise NotImplementedError

    def returns(self, ctx: Any, change: Change) -> dict[str, Any]:
        """What `register` gets beside `changed` and `diff`."""
        return {}


class Probe(Module):
    """Reads only; never changes anything."""

    def look(self, ctx: Any) -> dict[str, Any]:
        raise NotImplementedError


class Action(Module):
    """A command rather than a state: runs once, never repeated after a lost connection."""

    def guard(self, ctx: Any) -> dict[str, Any] | None:
        """The result when there is nothing to do (`creates` exists, say); None when it must act."""
        return None

    @property
    def foreseeable(self) -> bool:
        """Whether acting always changes something; otherwise --check reports unknown."""
        return False

    def act(self, ctx: Any) -> dict[str, Any]:
        raise NotImplementedError
