"""Going on with a spare: a launch whose gate stays closed puts the bad node into quarantine and
begins anew without it.

Two nodes have one link, and a bad link has two ends. Then the later end goes first; should the
other one's link to the spare be bad as well, it was that one, and the first is let out again. Where
nobody can take a node's place, putting it aside ends the launch: the network is then proved once
more, and only who is named again has to leave.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Collection
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Protocol

from playrunner.errors import PlayrunnerError
from playrunner.training.netcheck.verdict import Verdict
from playrunner.training.ssh.follow import GateClosed

CERTAIN = 2  # gates that name a node before it leaves with nobody to take its place


class Ward(Protocol):
    """Where nodes are put aside."""

    def knows(self, node: str, /) -> bool: ...
    def put(self, node: str, reason: str, seconds: float, /) -> object: ...
    def release(self, node: str, /) -> bool: ...


class Pool(Protocol):
    """The nodes that there are for a launch."""

    wanted: int
    quarantine: str  # how long a bad node is put aside, as 24h
    seconds: float

    @property
    def ward(self) -> Ward: ...
    def left(self, without: Collection[str], /) -> list[str]: ...  # those who could take part
    def where(self, left: list[str], /) -> str: ...  # as `with node1, node2`


class NoSpare(PlayrunnerError):
    """A node was named again and had to leave, and nobody can take its place."""

    exit_code = 6

    def __init__(self, verdict: Verdict, out: list[str], pool: Pool) -> None:
        fewer = pool.wanted - len(out)
        super().__init__(
            f"the gate stays closed: {'; '.join(verdict.lines)}\n{', '.join(out)}: named by"
            f" {CERTAIN} gates, and out now, in quarantine for {pool.quarantine}; there is no node"
            " to spare. Once it is well again:"
            f" {'; '.join(f'invoke nodes.release {node}' for node in out)}"
            + (f" (without it: --nodes {fewer})" if fewer > 0 else "")
        )


@dataclass
class Search:
    """What the gates of one launch have found so far."""

    name: str
    bad_links: set[tuple[str, str]] = field(default_factory=set)
    put_aside: dict[str, str] = field(
        default_factory=dict
    )  # host -> the node its bad link led to; nothing: its own fault
    named: Counter[str] = field(
        default_factory=Counter
    )  # how many gates have named a node by itself
    tried_again: bool = False

    def blame(self, verdict: Verdict, nodes: list[str], ward: Ward) -> dict[str, str]:
        """Who has to leave, with the reason."""
        blamed = {node: _reason(node, verdict) for node in verdict.culprits if ward.knows(node)}
        if len(blamed) * 2 > len(nodes):
            return {}  # more bad nodes than good ones: it is not the nodes
        for a, b in () if blamed else verdict.links:
            self.bad_links.add((a, b))
            twice = next(
                (end for end in (a, b) if sum(end in link for link in self.bad_links) > 1), None
            )
            end = twice or max((a, b), key=nodes.index)
            blamed[end] = _reason(end, verdict)
            self.put_aside[end] = "" if twice else (b if end == a else a)
        self.named.update(node for node in blamed if node in verdict.culprits)
        return blamed

    def send(self, blamed: dict[str, str], ward: Ward, seconds: float) -> list[str]:
        """They leave, with their reasons written down; one who left for another's fault comes back."""
        for host, other in list(self.put_aside.items()):
            if (
                other in blamed and self.put_aside.get(other) == ""
            ):  # it was the other end all along
                ward.release(host)
                del self.put_aside[host]
        for node, reason in blamed.items():
            ward.put(node, f"{reason} (gate of {self.name})", seconds)
        return list(blamed)


def past_gate(
    name: str, start: Callable[[], int], open_pool: Callable[[], AbstractContextManager[Pool]]
) -> int:
    """`start` again and again, until a gate opens or nobody is left to replace a bad node."""
    search = Search(name)
    while True:
        try:
            return start()
        except GateClosed as closed:
            with open_pool() as pool:
                if not goes_on(search, closed.verdict, closed.nodes, pool):
                    raise


def goes_on(search: Search, verdict: Verdict, nodes: list[str], pool: Pool) -> bool:
    """Whether it is worth another try: without the bad nodes where others can take their place,
    else once more with all."""
    blamed = search.blame(verdict, nodes, pool.ward)
    if not blamed:
        return False
    left = pool.left(blamed)
    if len(left) >= pool.wanted:
        leaving = search.send(blamed, pool.ward, pool.seconds)
        _say(
            f"quarantine for {', '.join(leaving)} (invoke nodes.list tells of it, nodes.release"
            " ends it)"
        )
        _say(
            f"the gate stays closed: {'; '.join(verdict.lines)}\n{search.name} goes on"
            f" {pool.where(left)}"
        )
        return True
    certain = [node for node in blamed if node in verdict.culprits]
    if not certain:
        _say(
            "nobody is put aside: either end of a bad link may be to blame, and there is no spare"
            " to try it with"
        )
        return False
    out = {node: blamed[node] for node in certain if search.named[node] >= CERTAIN}
    if out:
        search.send(out, pool.ward, pool.seconds)
        raise NoSpare(verdict, list(out), pool)
    if search.tried_again:
        return False  # it names another one each time: that is no finding
    search.tried_again = True
    _say(
        f"the gate stays closed: {'; '.join(verdict.lines)}\nthere is no spare, so the network is"
        f" proved once more before {', '.join(certain)} has to leave"
    )
    return True


def _reason(node: str, verdict: Verdict) -> str:
    return next(
        (line for line in verdict.lines if node in line.replace(",", " ").split()), verdict.lines[0]
    )


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
