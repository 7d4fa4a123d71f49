"""The record of one request to a pretend cloud, for tests that count and for the rights an operator
needs."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class CallRecord:
    """One request, whatever became of it."""

    number: int
    time: float
    service: str
    action: str
    permission: str
    region: str
    mutating: bool
    status: int | None
    error: str | None
    fault: str | None
    milliseconds: float
    agent: str  # who asked, in their own words
    resource: str = ""  # what it is about, where policies are made for single things
