"""The variables that one host's steps see: its vars_files, and what includes add to them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from playrunner.model import Step
from playrunner.variables.host_memory import PlayVariables, RunVariables
from playrunner.variables.play_vars_files import read_vars_files
from playrunner.variables.scope import Scope
from playrunner.variables.waiter import Waiter

Layers = tuple[Mapping[str, Any], ...]  # outermost first


class HostScopes:
    """Makes the scopes of one host in one play."""

    def __init__(
        self, run_vars: RunVariables, variables: PlayVariables, host: str, waiter: Waiter
    ) -> None:
        self._run_vars, self._variables, self._host, self._waiter = (
            run_vars,
            variables,
            host,
            waiter,
        )
        self._loop_vars: Layers = ()  # loop variables of includes
        self._params: Layers = ()  # `vars` of includes
        self._files: Mapping[str, Any] = {}  # vars_files

    def read_vars_files(self) -> None:
        self._files = read_vars_files(self._variables.play.vars_files, self.of_play)

    def of_play(self, files: Mapping[str, Any] | None = None) -> Scope:
        """The scope of the play itself, outside of any step."""
        return Scope(
            self._run_vars,
            self._host,
            self._variables,
            files=self._files if files is None else files,
            waiter=self._waiter,
        )

    def of_step(self, step: Step, waiter: Waiter | None = None) -> Scope:
        return Scope(
            self._run_vars,
            self._host,
            self._variables,
            step,
            local=_merged(self._loop_vars),
            params=_merged(self._params),
            files=self._files,
            waiter=waiter or self._waiter,
        )

    @contextmanager
    def inside(self, loop_vars: Mapping[str, Any], params: Mapping[str, Any]) -> Iterator[None]:
        """Within an include: its loop variables and parameters are seen by every step in it."""
        before = self._loop_vars, self._params
        self._loop_vars, self._params = (*self._loop_vars, loop_vars), (*self._params, params)
        try:
            yield
        finally:
            self._loop_vars, self._params = before


def _merged(layers: Layers) -> dict[str, Any]:
    return {name: value for layer in layers for name, value in layer.items()}
