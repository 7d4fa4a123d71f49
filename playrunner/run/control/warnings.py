"""Warnings before a run: keys that are written twice, and steps that cannot work, but may never be
reached or are meant to fail."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from playrunner.config.ansible_config import ansible_config
from playrunner.errors import BadInput
from playrunner.model import Play, steps_of
from playrunner.text.documents import repeated_keys


def warn_of_refusals(plays: Sequence[Play], warn: Callable[[str], None]) -> None:
    refused = dict.fromkeys(  # once each, however often its role is named
        (step.place, step.refusal)
        for play in plays
        for nodes in (*play.sections, play.handlers)
        for step in steps_of(nodes)
        if step.refusal
    )
    for place, refusal in refused:
        where = "" if str(place.file) in refusal else f"{place}: "
        warn(f"warning: {where}{refusal}; the step fails if it is reached")


def warn_of_repeated_keys(warn: Callable[[str], None]) -> None:
    """A key that a mapping has twice: the first value is lost. `duplicate_dict_key` of ansible.cfg
    says whether that is an error."""
    how = ansible_config().get("duplicate_dict_key", "warn")
    for place, key in repeated_keys.items():
        message = f"Found duplicate mapping key {key!r}"
        if how == "error":
            raise BadInput(f"{message}; remove one of them", place)
        if how == "warn":
            warn(f"warning: {message} at {place}; the last one counts")
    repeated_keys.clear()
