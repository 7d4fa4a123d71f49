"""Limits: how much a host may send and how long it may be silent. A host may be broken or hostile,
the controller goes on."""

from __future__ import annotations

import os
from functools import cache
from typing import NamedTuple

from playrunner.errors import BadInput

MIB = 1 << 20

LINE_BYTES = (
    32 * MIB
)  # of one reply as JSON: `find` with 80,000 files; long texts travel beside it, as raw bytes
# Lists and mappings in one reply; an empty one is 3 bytes to send and 64 to hold
NESTED_VALUES = 1_000_000
# Nested levels; real documents have 40 at most, and code that walks a value has 1,000 calls to
# spend
DEPTH = 100
ANSWER_BYTES = 16 * MIB  # of a small program that is asked something: what it prints is a few lines
GREETING_BYTES = MIB  # what a login shell may print before the agent starts
TEXT_CHARACTERS = 1 << 16  # of a message, a warning or an exception; a longer one is cut
WARNINGS = 100  # of one step; later ones are cut
# An agent stops showing at the limit; one that shows this many times as much is not ours
SHOWN_ALLOWANCE = 2
BEATS = 10  # signs of life that must be missing in a row: one may be late on a host that swaps


class Limits(NamedTuple):
    """The limits a user can set, by environment variables."""

    output_bytes: int  # of a command's stdout and stderr together; the rest is counted and left out
    reply_bytes: int  # of the raw part of one reply: a fetched file, the output of a command
    shown_bytes: int  # of what a running step shows on the screen
    silent_seconds: float  # without a sign of life from an agent that has work to do

    @property
    def beat_seconds(self) -> float:
        return self.silent_seconds / BEATS

    def for_agent(self) -> dict[str, object]:
        """What the half on the host needs to know, to stay within them."""
        return {
            "op": "limits",
            "output": self.output_bytes,
            "reply": self.reply_bytes,
            "shown": self.shown_bytes,
            "line": LINE_BYTES,
            "beat": self.beat_seconds,
        }


@cache
def limits() -> Limits:
    return Limits(
        output_bytes=int(
            _given("PLAYRUNNER_OUTPUT_MB", 100) * MIB
        ),  # what people register, many times over
        reply_bytes=int(
            _given("PLAYRUNNER_REPLY_MB", 256) * MIB
        ),  # held in memory once for each host that sends one
        shown_bytes=int(
            _given("PLAYRUNNER_SHOWN_MB", 4) * MIB
        ),  # 50,000 lines: more than a person scrolls back
        silent_seconds=_given(
            "PLAYRUNNER_SILENT_SECONDS", 300
        ),  # a loaded node may stall for minutes
    )


def _given(name: str, default: float) -> float:
    text = os.environ.get(name, "")
    if not text:
        return default
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < 1e9:
        raise BadInput(f'{name} is "{text}"; it must be a number above 0, such as {default:g}')
    return value
