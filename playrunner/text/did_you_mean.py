"""The name somebody probably meant."""

from __future__ import annotations

from collections.abc import Iterable


def did_you_mean(written: str, known: Iterable[str], otherwise: str = "") -> str:
    """`; did you mean "hosts"?`, or other advice when no known name is near."""
    import difflib

    near = difflib.get_close_matches(written, list(known), n=1)
    if near:
        return f'; did you mean "{near[0]}"?'
    return f"; {otherwise}" if otherwise else ""
