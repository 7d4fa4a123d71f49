"""Replacing bad nodes: a launch whose network check fails quarantines the bad node and starts again
with a spare.

A bad link has two ends. The later node is quarantined first; if the other node's link to the spare
is bad as well, that node was the cause, and the first is released. Without a spare the network is
checked again, and only a node that is named again is quarantined, which ends the launch.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Collection
from contextlib import AbstractContextManager
from dataclasses import field
from typing import TYPE_CHECKING, Protocol

from playrunner.errors import PlayrunnerError
from playrunner.frozen import mutable
from playrunner.training.netcheck.errors import GateClosed

if TYPE_CHECKING:
    from trainer.netcheck.verdict import Verdict

CERTAIN = 2  # checks that must name a node before it is quarantined without a replacement


class QuarantineStore(Protocol):
    """Where quarantined nodes are recorded."""

    def knows(self, node: str, /) -> bool: ...
    def put(self, node: str, reason: str, seconds: float, /) -> object: ...
    def release(self, node: str, /) -> bool: ...


class Pool(Protocol):
    """The nodes that there are for a launch."""

    wanted: int
    quarantine: str  # how long a bad node is quarantined, as 24h
    seconds: float

    @property
    def store(self) -> QuarantineStore: ...
    def left(self, without: Collection[str], /) -> list[str]: ...  # those who could take part
    def where(self, left: list[str], /) -> str: ...  # as `with node1, node2`
    def told(self, leaving: list[str], /) -> str: ...  # what became of bad nodes
    def out_told(self, leaving: list[str], /) -> str: ...  # the same, where no spare is left


class NoSpare(PlayrunnerError):
    """A node was named again and is quarantined, and no spare can replace it."""

    exit_code = 6

    def __init__(self, verdict: Verdict, out: list[str], pool: Pool) -> None:
        fewer = pool.wanted - len(out)
        super().__init__(
            f"the network check failed: {'; '.join(verdict.lines)}\n{', '.join(out)}: named by"
            f" {CERTAIN} network checks {pool.out_told(out)}"
            + (f" (without it: --nodes {fewer})" if fewer > 0 else "")
        )


@mutable
class Search:
    """What the network checks of one launch have found so far."""

    name: str
    bad_links: set[tuple[str, str]] = field(default_factory=set)
    put_aside: dict[str, str] = field(
        default_factory=dict
    )  # host -> the node its bad link led to; nothing: its own fault
    named: Counter[str] = field(default_factory=Counter)  # how many checks have named a node alone
    tried_again: bool = False

    def choose_nodes_to_quarantine(
        self, verdict: Verdict, nodes: list[str], store: QuarantineStore
    ) -> dict[str, str]:
        """The nodes to quarantine, with the reason."""
        reason = "; ".join(verdict.lines)
        chosen = {node: reason for node in verdict.culprits if store.knows(node)}
        if len(chosen) * 2 > len(nodes):
            return {}  # more bad nodes than good ones: the cause is elsewhere
        for a, b in () if chosen else verdict.links:
            self.bad_links.add((a, b))
            twice = next(
                (end for end in (a, b) if sum(end in link for link in self.bad_links) > 1), None
            )
            end = twice or max((a, b), key=nodes.index)
            chosen[end] = reason
            self.put_aside[end] = "" if twice else (b if end == a else a)
        self.named.update(node for node in chosen if node in verdict.culprits)
        return chosen

    def quarantine(
        self, chosen: dict[str, str], store: QuarantineStore, seconds: float
    ) -> list[str]:
        """Record them; a node that was quarantined for another's fault is released."""
        for host, other in list(self.put_aside.items()):
            if (
                other in chosen and self.put_aside.get(other) == ""
            ):  # it was the other end all along
                store.release(host)
                del self.put_aside[host]
        for node, reason in chosen.items():
            store.put(node, f"{reason} (network check of {self.name})", seconds)
        return list(chosen)


def launch_with_replacement_nodes(
    name: str, start: Callable[[], int], open_pool: Callable[[], AbstractContextManager[Pool]]
) -> int:
    """Call `start` until a network check passes or no spare is left to replace a bad node."""
    search = Search(name)
    while True:
        try:
            return start()
        except GateClosed as closed:
            with open_pool() as pool:
                if not should_retry(search, closed.verdict, closed.nodes, pool):
                    raise


def should_retry(search: Search, verdict: Verdict, nodes: list[str], pool: Pool) -> bool:
    """Whether to start again: without the bad nodes where spares can replace them, else once with
    all of them."""
    chosen = search.choose_nodes_to_quarantine(verdict, nodes, pool.store)
    if not chosen:
        return False
    left = pool.left(chosen)
    if len(left) >= pool.wanted:
        leaving = search.quarantine(chosen, pool.store, pool.seconds)
        _say(pool.told(leaving))
        _say(
            f"the network check failed: {'; '.join(verdict.lines)}\n{search.name} continues"
            f" {pool.where(left)}"
        )
        return True
    certain = [node for node in chosen if node in verdict.culprits]
    if not certain:
        _say(
            "No node quarantined: the link is bad but either node may be the cause, and there is no"
            " spare node to test with"
        )
        return False
    out = {node: chosen[node] for node in certain if search.named[node] >= CERTAIN}
    if out:
        search.quarantine(out, pool.store, pool.seconds)
        raise NoSpare(verdict, list(out), pool)
    if search.tried_again:
        return False  # it names another one each time: that is no finding
    search.tried_again = True
    _say(
        f"the network check failed: {'; '.join(verdict.lines)}\nthere is no spare, so the network"
        f" is checked again before {', '.join(certain)} is quarantined"
    )
    return True


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
