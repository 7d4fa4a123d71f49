"""Value: a variable of an inventory, the file and line it comes from, and its layer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from playrunner.config.ansible_config import ansible_config
from playrunner.errors import Place
from playrunner.frozen import frozen
from playrunner.text.merging import merged


@frozen
class Value:
    """A raw variable (templates in it are not rendered) and the file and line that gave it."""

    value: Any
    place: Place
    layer: str


Values = dict[str, Value]


def add_values(values: Values, stronger: Mapping[str, Value]) -> None:
    """Add a stronger layer: its values replace others, or with hash_behaviour=merge are merged."""
    if ansible_config().text("hash_behaviour") != "merge":
        values.update(stronger)
        return
    for name, value in stronger.items():
        known = values.get(name)
        values[name] = replace(value, value=merged(known.value, value.value)) if known else value


def values_of(mapping: Mapping[Any, Any], layer: str, place: Place) -> Values:
    """The entries of a mapping as Values; a `Located` mapping gives each its own line, any other
    the same place."""
    line_of = getattr(mapping, "place", None)
    return {
        str(name): Value(value, line_of(name) if line_of is not None else place, layer)
        for name, value in mapping.items()
    }
