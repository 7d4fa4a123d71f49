"""Comparing version numbers in the ways Ansible's `version` test knows."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable
from typing import Any

from playrunner.errors import StepFailed

_OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    **dict.fromkeys(("==", "=", "eq"), operator.eq),
    **dict.fromkeys(("!=", "<>", "ne"), operator.ne),
    **dict.fromkeys(("<", "lt"), operator.lt),
    **dict.fromkeys(("<=", "le"), operator.le),
    **dict.fromkeys((">", "gt"), operator.gt),
    **dict.fromkeys((">=", "ge"), operator.ge),
}


def version(
    value: Any,
    other: Any,
    operator: str = "eq",
    strict: bool | None = None,
    version_type: str | None = None,
) -> bool:
    """Whether a version compares to another as the operator says."""
    if str(value) == "" or str(other) == "":
        raise ValueError("a version to compare is empty")
    if operator not in _OPERATORS:
        raise ValueError(f"there is no operator {operator!r}; there are {', '.join(_OPERATORS)}")
    if strict is not None and version_type is not None:
        raise ValueError("give strict or version_type, not both")
    kind = version_type or ("strict" if strict else "loose")
    if kind not in _KINDS:
        raise ValueError(f"there is no version_type {kind!r}; there are {', '.join(_KINDS)}")
    read = _KINDS[kind]
    try:
        return bool(_OPERATORS[operator](read(str(value)), read(str(other))))
    except TypeError:
        raise ValueError(f"{value!r} and {other!r} differ in form, so they have no order") from None


def _loose(text: str) -> list[int | str]:
    parts = (part for part in re.split(r"(\d+|[a-z]+|\.)", text) if part and part != ".")
    return [int(part) if part.isdigit() else part for part in parts]


def _strict(text: str) -> tuple[Any, ...]:
    match = re.fullmatch(r"(\d+)\.(\d+)(?:\.(\d+))?(?:([ab])(\d+))?", text)
    if not match:
        raise ValueError(f"{text!r} is not a strict version such as 1.2 or 1.2.3b1")
    major, minor, patch, stage, number = match.groups()
    # A final version comes after its alphas and betas.
    return int(major), int(minor), int(patch or 0), stage or "z", int(number or 0)


def _semantic(text: str) -> tuple[Any, ...]:
    match = re.fullmatch(r"(\d+)\.(\d+)\.(\d+)(?:-([0-9A-Za-z.-]+))?(?:\+[0-9A-Za-z.-]+)?", text)
    if not match:
        raise ValueError(f"{text!r} is not a semantic version such as 1.2.3 or 1.2.3-rc.1")
    before = match[4]
    # Numbers come before words, and a version without a pre-release part comes after all that have
    # one.
    labels = (
        [(0, int(part), "") if part.isdigit() else (1, 0, part) for part in before.split(".")]
        if before
        else []
    )
    return int(match[1]), int(match[2]), int(match[3]), before is None, labels


def _pep440(text: str) -> Any:
    try:
        from packaging.version import InvalidVersion, Version
    except ImportError:
        raise StepFailed(
            "version_type 'pep440' needs the Python package `packaging` on the controller"
        ) from None
    try:
        return Version(text)
    except InvalidVersion:
        raise ValueError(f"{text!r} is not a Python version such as 1.2 or 1.2rc1") from None


_KINDS: dict[str, Callable[[str], Any]] = {
    "loose": _loose,
    "strict": _strict,
    "semver": _semantic,
    "semantic": _semantic,
    "pep440": _pep440,
}
