"""Finding filters and tests that do not exist before a template runs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from jinja2 import Environment, nodes

from playrunner.errors import BadInput
from playrunner.variables.filters import INSTEAD_OF_FILTER
from playrunner.variables.filters.undefined import did_you_mean

# Tests that ansible-core no longer has; until its version 2.9 every test was a filter, too
_FORMER_TESTS = frozenset({"version_compare", "is_dir", "is_file", "is_link", "is_abs"})


class FormerFilter(str):
    """The text about a filter that ansible-core once had: a playbook from then, no typing mistake.
    As there, only the step that comes to it fails."""


def unknown_name(environment: Environment, tree: nodes.Template) -> str | None:
    """What is wrong with the first filter or test that does not exist, or None."""
    for node in tree.find_all((nodes.Filter, nodes.Test)):
        is_filter = isinstance(node, nodes.Filter)
        known = environment.filters if is_filter else environment.tests
        try:
            problem = _unknown(node.name, known, "filter" if is_filter else "test")
        except BadInput as error:  # a file of plugins that might have had it cannot be loaded
            if is_filter and _was_filter(environment, node.name):
                return FormerFilter(error.message)
            raise
        if problem and is_filter and _was_filter(environment, node.name):
            return FormerFilter(f"line {node.lineno}: {problem}")
        problem = problem or (
            _unknown_argument(environment, node) if isinstance(node, nodes.Filter) else None
        )
        if problem:
            return f"line {node.lineno}: {problem}"
    return None


def _was_filter(environment: Environment, name: str) -> bool:
    short = name.removeprefix("ansible.builtin.")
    return short in _FORMER_TESTS or short in environment.tests


def _unknown_argument(environment: Environment, node: nodes.Filter) -> str | None:
    """The filter that `map`, or the test that `select` and its relatives name as text."""
    position = {"map": 0, "select": 0, "reject": 0, "selectattr": 1, "rejectattr": 1}.get(node.name)
    if position is None or len(node.args) <= position:
        return None
    named = node.args[position]
    if not isinstance(named, nodes.Const) or not isinstance(named.value, str):
        return None
    if node.name == "map":
        return _unknown(named.value, environment.filters, "filter")
    return _unknown(named.value, environment.tests, "test")


def _unknown(name: str, known: Mapping[str, Any], kind: str) -> str | None:
    if name in known:
        return None
    short = name.rpartition(".")[2]
    if kind == "filter" and short in INSTEAD_OF_FILTER:
        return f"filter {name!r} is not supported; {INSTEAD_OF_FILTER[short]}"
    return (
        f"there is no {kind}"
        f" {name!r}{did_you_mean(short, [each for each in known if '.' not in each])}"
    )
