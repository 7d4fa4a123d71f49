"""Warnings of variables with names of Ansible's own, said where ansible-core says them: of plays
before they start, of steps before they run, of results when they come. Each place is named once."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from playrunner.errors import Place, PlayrunnerError
from playrunner.model import Play, Step
from playrunner.output.report import Report
from playrunner.output.warned import Warned
from playrunner.results import Result
from playrunner.text.documents import read_text
from playrunner.text.layered import place_in
from playrunner.variables.host_memory import PlayVariables, RunVariables
from playrunner.variables.layers import InventoryLayer
from playrunner.variables.play_vars_files import files_of_play
from playrunner.variables.reserved import RESERVED_NAMES, reserved_among
from playrunner.variables.scope import Scope

Variables = Mapping[str, Any]
_STORES = ("play.set_fact", "play.include_vars")


class ReservedNames:
    """What was said of them in one run."""

    def __init__(self, run_vars: RunVariables, report: Report) -> None:
        self._run_vars, self._report = run_vars, report
        self._said: set[tuple[str, str, Place]] = set()
        # Reserved names by mapping, which is kept so that no other one gets its id, and by host
        self._names: dict[int, tuple[Variables, tuple[str, ...]]] = {}
        self._hosts: dict[str, tuple[str, ...]] = {}

    def of_plays(self, plays: Sequence[Play]) -> None:
        """What can be told without a run."""
        self.at_load(plays)
        for play in plays:
            self.of_play(PlayVariables(play, {}))

    def at_load(self, plays: Sequence[Play]) -> None:
        """ansible-core reads the variables of a play when it loads its roles, before any runs."""
        for play in plays:
            if play.roles:
                self._say_now(
                    play.vars,
                    files_of_play(self._run_vars, PlayVariables(play, {})),
                    self._run_vars.extra,
                )

    def of_play(self, variables: PlayVariables) -> None:
        play, self._names, self._hosts = variables.play, {}, {}
        self._say_now(
            *(role.defaults for role in play.roles),
            play.vars,
            files_of_play(self._run_vars, variables),
            *(role.vars for role in play.roles),
            self._run_vars.extra,
        )

    def of_step(self, step: Step, scope: Scope, play: int) -> None:
        role = step.role
        layers: list[Variables] = [role.defaults] if role else []
        if self._names_of_host(scope.host):
            layers.append(InventoryLayer(self._run_vars.inventory, scope.host))
        layers += (scope.play.play.vars, scope.files) if scope.play else ()
        layers += (role.vars,) if role else ()
        layers += (*step.keywords.vars, *((role.params,) if role else ()))
        for name, place in self._new(scope.host, *layers, scope.params):
            warned = Warned(_text(name), name, place, scope.host, play, step.position)
            self._report.add_warning(warned)

    def before_result(self, step: Step, result: Result) -> None:
        """What set_fact and include_vars set."""
        if step.module in _STORES:
            for values in (result.values, *(item.values for item in result.items)):
                facts = values.get("ansible_facts")
                source = step.arguments if step.module == "play.set_fact" else facts
                for name in reserved_among(facts) if isinstance(facts, dict) else ():
                    self._say_with(result, name, place_in(source or {}, name))

    def after_result(self, step: Step, result: Result) -> None:
        if step.register in RESERVED_NAMES:
            self._say_with(result, str(step.register), _place_of_register(step))

    def _say_now(self, *layers: Variables) -> None:
        for name, place in self._new("", *layers):
            self._report.print_warning(_text(name), name, place)

    def _say_with(self, result: Result, name: str, place: Place) -> None:
        host, play, position = result.host, result.play, result.position
        if self._is_new(host, name, place):
            warned = Warned(_text(name), name, place, host, play, position, result)
            self._report.add_warning(warned)

    def _new(self, host: str, *layers: Variables) -> Iterator[tuple[str, Place]]:
        """Reserved names that were not told of yet, with the place in the weakest layer."""
        places: dict[str, Place] = {}
        for layer in layers:
            for name in self._names_in(layer):
                if name not in places:
                    places[name] = place_in(layer, name)
        for name, place in places.items():
            if self._is_new(host, name, place):
                yield name, place

    def _is_new(self, host: str, name: str, place: Place) -> bool:
        """Each host tells what it has; the report prints what the first one says."""
        said = (host, name, place)
        known = said in self._said
        self._said.add(said)
        return not known

    def _names_in(self, layer: Variables) -> tuple[str, ...]:
        if not layer:
            return ()
        known = self._names.get(id(layer))
        if known is None:
            known = self._names[id(layer)] = (layer, reserved_among(layer))
        return known[1]

    def _names_of_host(self, host: str) -> tuple[str, ...]:
        if host not in self._hosts:
            self._hosts[host] = reserved_among(self._run_vars.inventory.variables(host))
        return self._hosts[host]


def _text(name: str) -> str:
    return f"Found variable using reserved name {name!r}."


def _place_of_register(step: Step) -> Place:
    """The line of a task's `register`."""
    try:
        lines = read_text(Path(step.place.file)).splitlines()
    except PlayrunnerError:
        return step.place
    written = re.compile(rf"register['\"]?\s*:\s*['\"]?{re.escape(str(step.register))}(?!\w)")
    for number, line in enumerate(lines[max(0, step.place.line - 1) :], step.place.line):
        if written.search(line):
            return Place(step.place.file, number)
    return step.place
