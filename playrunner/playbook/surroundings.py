"""Surroundings: what a list of tasks inherits from the play, role or file around it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field
from itertools import count
from pathlib import Path
from typing import Any, Protocol

from playrunner.errors import Place
from playrunner.frozen import frozen
from playrunner.model import NONE, Keywords, Node, Position, Role, RoleMention


class ImportRole(Protocol):
    """Loads the steps of a role that a task names."""

    def __call__(
        self, given: Mapping[str, Any], place: Place, around: Surroundings
    ) -> tuple[Node, ...]: ...


@frozen
class Imported:
    """The roles that a play imports: their variables and handlers belong to the whole play."""

    roles: list[Role]
    handlers: list[Node]
    done: list[RoleMention]  # so far: their handlers and variables are known


@frozen
class Surroundings:
    """What a list of tasks inherits: its folder, its role, its keywords, and the next free
    position."""

    directory: Path  # of the file the tasks are in
    play_directory: Path
    keywords: Keywords = NONE
    role: Role | None = None
    prefix: Position = ()
    counter: Iterator[int] = field(default_factory=count)
    handlers: bool = False
    # A block around rescues failures, or the tasks are its `rescue`: wrong arguments then fail at
    # run time
    rescued: bool = False
    imported: Imported | None = None
    # How a role's steps are loaded; given from above, since roles are made of steps
    import_role: ImportRole | None = None
    # Includes that are being checked; one may include itself
    inside: frozenset[tuple[str, str]] = frozenset()
    importing: tuple[Path, ...] = ()  # files whose imports are being loaded
    collections: tuple[str, ...] = ()  # searched for short names of modules
    # Variables that templates of imports may read: --extra-vars, then those of the play
    known: tuple[Mapping[str, Any], ...] = ()

    def position(self) -> Position:
        return (*self.prefix, next(self.counter))
