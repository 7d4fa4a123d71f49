"""Which run a verb is about: the one named, else the only one in progress, else the newest."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Protocol, TypeVar

from playrunner.errors import PlayrunnerError
from playrunner.training.runs.states import NOT_FOUND


class RunNotFound(PlayrunnerError):
    """No run of that name on these nodes."""

    exit_code = NOT_FOUND


class _Named(Protocol):
    @property
    def name(self) -> str: ...
    @property
    def state(self) -> str: ...


_Run = TypeVar("_Run", bound=_Named)


def choose_run(runs: Sequence[_Run], name: str, in_progress: Collection[str]) -> _Run | None:
    """From runs that are sorted newest first; several in progress must be told apart by name."""
    named = [run for run in runs if not name or run.name == name]
    active = [run for run in named if run.state in in_progress]
    if len(active) > 1:
        raise RunNotFound(
            f"{len(active)} runs are in progress: {', '.join(run.name for run in active)}; choose"
            " one with --name"
        )
    return next(iter(active or named), None)
