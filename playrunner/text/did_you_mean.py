"""The known name that a misspelled one probably means."""

from __future__ import annotations

from collections.abc import Iterable


def nearest(name: object, known: Iterable[object], cutoff: float = 0.6) -> str:
    """The most similar known name, or "" when none is at least `cutoff` (0 to 1) similar."""
    import difflib  # only when something is misspelled

    close = difflib.get_close_matches(str(name), [str(word) for word in known], 1, cutoff)
    return close[0] if close else ""


def did_you_mean(
    name: object, known: Iterable[object], otherwise: str = "", cutoff: float = 0.6
) -> str:
    """`; did you mean "hosts"?`, or other advice when no known name is near."""
    close = nearest(name, known, cutoff)
    if close:
        return f'; did you mean "{close}"?'
    return f"; {otherwise}" if otherwise else ""
