"""What a sweep leaves: what says on itself that it is kept and what that needs, and whatever holds
something that was not asked about."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from playrunner.leftovers.leftover import Leftover

# What a file system in a subnet cannot be without.
_NEEDED = ("VPC", "subnet", "security group", "network interface")


def held(
    leftovers: Sequence[Leftover], with_kept: bool, also: Collection[str] = ()
) -> list[Leftover]:
    """The leftovers with those marked that a sweep leaves; with `with_kept` it leaves none that is
    kept or holds something, and of things of others it takes those that `also` names."""
    leftovers = [
        replace(leftover, stays=False, others=False, why="named by --also")
        if leftover.others and leftover.id in also
        else leftover
        for leftover in leftovers
    ]
    if with_kept:
        return [replace(leftover, kept=False) for leftover in leftovers]
    inside = {leftover.vpc: leftover for leftover in leftovers if leftover.kept and leftover.vpc}
    return [_held(leftover, inside.get(leftover.vpc)) for leftover in leftovers]


def _held(leftover: Leftover, kept: Leftover | None) -> Leftover:
    if leftover.kept:
        return _left(leftover, "kept; --with-kept deletes it")
    if kept is not None and leftover.kind in _NEEDED:
        return replace(_left(leftover, f"needed by {kept}, which is kept"), kept=True)
    if leftover.emptied and not leftover.stays:
        return _left(leftover, "--with-kept deletes it with what is in it")
    return leftover


def _left(leftover: Leftover, why: str) -> Leftover:
    reason = f"{leftover.contents}; {why}" if leftover.contents else why
    return replace(leftover, stays=True, by_tag=False, why=reason)
