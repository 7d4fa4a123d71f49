"""The environment compiler: every variable a launched process gets, decided here, the same for
every launcher.

What decisions.py decides is overridden by the profile's `launch.environment`, and that by the
inventory's `train_environment`. Each variable has the reason for its value and its origin; values
that are known to go wrong together are in conflicts.py.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from playrunner.errors import BadInput
from playrunner.text.did_you_mean import did_you_mean
from playrunner.training.environment.conflicts import RENAMED
from playrunner.training.environment.decisions import decided, setting
from playrunner.training.environment.machine_facts import MachineFacts
from playrunner.training.environment.variable import Variable


def compile_environment(
    profile: Mapping[str, Any],
    machines: MachineFacts,
    given: Mapping[str, str],
    given_origin: Callable[[str], str] | None = None,
    profile_name: str = "",
) -> list[Variable]:
    """All variables of a run, sorted; `given` is the inventory's `train_environment`,
    `given_origin` where a name was written."""
    variables = {each.name: each for each in decided(profile, machines)}
    by_profile = (
        f"profile {profile_name}: launch.environment"
        if profile_name
        else "profile: launch.environment"
    )
    by_inventory = given_origin or (lambda name: "inventory: train_environment")
    variables = _overlaid(
        variables, setting(profile, "launch.environment") or {}, lambda name: by_profile
    )
    variables = _overlaid(variables, given, by_inventory)
    return [variables[name] for name in sorted(variables)]


def show_environment(variables: Sequence[Variable], why: str = "") -> str:
    """A table of all variables, or everything about the one named by `why`."""
    if why:
        return _everything_about(_named(variables, why))
    rows = [
        ("variable", "value", "from", "why"),
        *((each.name, each.shown, each.origin, each.reason) for each in variables),
    ]
    widths = [max(len(row[column]) for row in rows) for column in range(3)]
    return "\n".join(
        "  ".join([*(cell.ljust(width) for cell, width in zip(row, widths, strict=False)), row[3]])
        for row in rows
    )


def as_json(variables: Iterable[Variable]) -> list[dict[str, Any]]:
    """The same as plain values, secrets hidden."""
    return [
        {
            "name": each.name,
            "value": each.shown,
            "secret": each.secret,
            "reason": each.reason,
            "origin": each.origin,
            "beaten": as_json(each.beaten),
        }
        for each in variables
    ]


def _overlaid(
    below: Mapping[str, Variable], asked: Mapping[str, Any], origin: Callable[[str], str]
) -> dict[str, Variable]:
    """What is asked for put over what was there; a setting with two names is overruled under
    either."""
    other_name = RENAMED | {old: new for new, old in RENAMED.items()}
    variables = {name: each for name, each in below.items() if other_name.get(name) not in asked}
    for name, value in asked.items():
        variables[name] = _asked(
            name, value, origin(name), below.get(name) or below.get(other_name.get(name, ""))
        )
    return variables


def _asked(name: str, value: object, origin: str, loser: Variable | None) -> Variable:
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name):
        raise BadInput(
            f'{origin}: "{name}" cannot be a variable\'s name; write NAME: value, without "export"'
            ' or "="'
        )
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        kind = (
            "nothing"
            if value is None
            else f"{value}"
            if isinstance(value, bool)
            else f"a {type(value).__name__}"
        )
        raise BadInput(
            f"{origin}: {name} is {kind}, which programs read differently; write the text they"
            " should see, in quotes"
        )
    text = str(value)
    if "\n" in text or "\0" in text:
        raise BadInput(
            f"{origin}: {name} has a line break in it, which does not survive every launcher; write"
            " it as one line"
        )
    if loser is None:
        return Variable(name, text, "asked for", origin)
    renamed = "" if loser.name == name else f"{loser.name}="
    verdict = (
        f"as {loser.origin} has it"
        if text == loser.value
        else f"beats {renamed}'{loser.shown}' from {loser.origin}"
    )
    return Variable(name, text, f"asked for; {verdict}", origin, (loser, *loser.beaten))


def _everything_about(found: Variable) -> str:
    lines = [f"{found.name}={found.shown}", f"  why   {found.reason}", f"  from  {found.origin}"]
    lines += [f"  else  '{each.shown}' from {each.origin}: {each.reason}" for each in found.beaten]
    return "\n".join(lines)


def _named(variables: Sequence[Variable], name: str) -> Variable:
    for each in variables:
        if each.name == name:
            return each
    advice = did_you_mean(
        name.upper(),
        [each.name for each in variables],
        "run train.env without --why for all of them",
    )
    raise BadInput(f'no variable "{name}" is set for this run{advice}')
