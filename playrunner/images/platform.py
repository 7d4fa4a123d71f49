"""The one platform that images are for: nodes are x86-64, and an image of another kind fails only
when its pods start."""

from __future__ import annotations

from collections.abc import Iterable

from playrunner.hostside.module import Failed

PLATFORM = "linux/amd64"
ARCHITECTURE = "amd64"


def require(found: Iterable[str], what: str) -> None:
    """Refuse an image that does not come for our platform."""
    there = sorted(set(found))
    if ARCHITECTURE not in there:
        raise Failed(
            f"{what} is for {', '.join(there) or 'an unknown architecture'}, and the nodes are"
            f" {PLATFORM}; name a base that comes for it"
        )
