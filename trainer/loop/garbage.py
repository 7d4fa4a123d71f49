"""Python's garbage collection, which a rank does without while it starts."""

from __future__ import annotations

import gc


def collect_again() -> None:
    """Where it was off; what was imported meanwhile stays, and is not looked over any more."""
    if not gc.isenabled():
        gc.freeze()
        gc.enable()
