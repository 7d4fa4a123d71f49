"""Findings of a preflight, and how its questions are asked: all at once, none of them fatal for the
others."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Literal

from playrunner.cloud.resource import Refused, Unanswered
from playrunner.frozen import frozen

MOST_AT_ONCE = 16


@frozen
class Finding:
    """One finding: it would fail (problem), it could not be checked (unknown), or it may matter
    (warning)."""

    kind: Literal["problem", "unknown", "warning"]
    text: str


def problem(text: str) -> Finding:
    return Finding("problem", text)


def unknown(text: str) -> Finding:
    return Finding("unknown", text)


def warning(text: str) -> Finding:
    return Finding("warning", text)


def answers(questions: Mapping[str, Callable[[], Any]]) -> tuple[dict[str, Any], list[Finding]]:
    """What each question gave, asked side by side; one that is refused an answer is missing, and a
    finding says so."""
    got: dict[str, Any] = {}
    refused: list[Finding] = []
    if not questions:
        return got, refused
    with ThreadPoolExecutor(MOST_AT_ONCE) as pool:
        futures = {name: pool.submit(ask) for name, ask in questions.items()}
        for name, future in futures.items():
            try:
                got[name] = future.result()
            except (Refused, Unanswered) as refusal:
                refused.append(unknown(f"{name} cannot be known: {refusal}"))
    return got, refused


def findings(checks: Mapping[str, Callable[[], Iterable[Finding]]]) -> list[Finding]:
    """What all checks find, in their order."""

    def listed(check: Callable[[], Iterable[Finding]]) -> Callable[[], list[Finding]]:
        return lambda: list(check())

    got, refused = answers({name: listed(check) for name, check in checks.items()})
    return [*(one for found in got.values() for one in found), *refused]
