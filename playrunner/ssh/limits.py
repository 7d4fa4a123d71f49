"""How much a host may send and how long it may be silent: a broken or hostile host must not harm
the controller."""

from __future__ import annotations

import os
from functools import cache
from typing import NamedTuple

from playrunner.errors import BadInput

MIB = 1 << 20

# Of one reply as JSON: `find` with 80,000 files; long texts are sent after it as raw bytes
LINE_BYTES = 32 * MIB
# Lists and mappings in one reply; an empty one is 3 bytes to send and 64 to hold
NESTED_VALUES = 1_000_000
# Nested levels; real documents have 40 at most, and Python recurses 1,000 levels
DEPTH = 100
ANSWER_BYTES = 16 * MIB  # of a query command, which prints a few lines
GREETING_BYTES = MIB  # what a login shell may print before the agent starts
TEXT_CHARACTERS = 1 << 16  # of a message, a warning or an exception; a longer one is cut
WARNINGS = 100  # of one step; later ones are cut
# Our agent stops at the limit; one that shows this many times as much is not ours
SHOWN_ALLOWANCE = 2
HEARTBEATS = 10  # that must be missing in a row: one may be late on a host that swaps


class Limits(NamedTuple):
    """The limits a user can set, by environment variables."""

    output_bytes: int  # of a command's stdout and stderr together; the rest is counted and left out
    reply_bytes: int  # of the raw part of one reply: a fetched file, the output of a command
    shown_bytes: int  # of what a running step shows on the screen
    silent_seconds: float  # without a heartbeat from an agent that has work to do

    @property
    def heartbeat_seconds(self) -> float:
        return self.silent_seconds / HEARTBEATS

    def for_agent(self) -> dict[str, object]:
        """The limits the agent on the host has to keep, as its first frame."""
        return {
            "op": "limits",
            "output": self.output_bytes,
            "reply": self.reply_bytes,
            "shown": self.shown_bytes,
            "line": LINE_BYTES,
            "beat": self.heartbeat_seconds,
        }


@cache
def limits() -> Limits:
    return Limits(
        # Many times what playbooks register
        output_bytes=int(_from_environment("PLAYRUNNER_OUTPUT_MB", 100) * MIB),
        # Held in memory once for each host that sends one
        reply_bytes=int(_from_environment("PLAYRUNNER_REPLY_MB", 256) * MIB),
        # 50,000 lines: more than a person scrolls back
        shown_bytes=int(_from_environment("PLAYRUNNER_SHOWN_MB", 4) * MIB),
        # A loaded node may stall for minutes
        silent_seconds=_from_environment("PLAYRUNNER_SILENT_SECONDS", 300),
    )


def _from_environment(name: str, default: float) -> float:
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
