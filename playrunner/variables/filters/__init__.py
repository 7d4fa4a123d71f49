"""What templates can do with values: filters by noun, and jinja2 tests in jinja_tests.py.

A filter is a plain function; it is in a template's reach once its file's FILTERS names it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from playrunner.variables.filters import (
    booleans,
    data,
    dates,
    hashing,
    jinja_tests,
    mappings,
    numbers,
    paths,
    regex,
    sequences,
    sets,
    text,
    vault,
)

_NOUNS = (
    booleans,
    data,
    dates,
    hashing,
    mappings,
    numbers,
    paths,
    regex,
    sequences,
    sets,
    text,
    vault,
)

FILTERS: dict[str, Callable[..., Any]] = {
    name: each for noun in _NOUNS for name, each in noun.FILTERS.items()
}
TESTS: dict[str, Callable[..., Any]] = {
    **jinja_tests.RESULT_TESTS,
    **jinja_tests.VALUE_TESTS,
    **jinja_tests.FILE_TESTS,
    **vault.TESTS,
}

# Filters and tests that look at files, which an earlier step may still be making, or at the clock.
READ_FILES: frozenset[str] = paths.READ_FILES | jinja_tests.FILE_TESTS.keys() | dates.READ_CLOCK

# Filters and tests that may be given an undefined value.
ACCEPT_MISSING = frozenset(
    {
        "default",
        "d",
        "mandatory",
        "ternary",
        "defined",
        "undefined",
        "type_debug",
        "vault_encrypted",
    }
)

INSTEAD_OF_FILTER = {
    "json_query": "install the collection community.general, or use selectattr,"
    " map(attribute='name') and dict access",
    "ipaddr": "install the collection ansible.utils, or use regex_search, or compute the address"
    " where the variable is defined",
}
