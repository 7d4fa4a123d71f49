"""Going on with a spare: a launch whose gate stays closed puts the bad node into quarantine and begins anew without it.

Two nodes have one link, and a bad link has two ends. Then the later end goes first; should the other one's link to the spare be
bad as well, it was that one, and the first is let out again.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass, field

from playrunner.options import Options
from playrunner.quarantine import DEFAULT_TIME, Quarantine, seconds_of
from roles.training.hosts import open_fleet, usable_hosts
from roles.training.network.verdict import Verdict
from roles.training.planning.plan import Request, read_request, run_name, wanted_nodes
from roles.training.watching.follow import GateClosed


@dataclass
class Search:
    """What the gates of one launch have found so far."""

    name: str
    bad_links: set[tuple[str, str]] = field(default_factory=set)
    put_aside: dict[str, str] = field(default_factory=dict)  # host -> the node its bad link led to; nothing: its own fault

    def take(self, verdict: Verdict, nodes: list[str], ward: Quarantine, seconds: float) -> list[str]:
        """Those who leave now, with their reasons written down."""
        blamed = {node: _reason(node, verdict) for node in verdict.culprits if ward.knows(node)}
        if len(blamed) * 2 > len(nodes):
            return []  # more bad nodes than good ones: it is not the nodes
        for a, b in () if blamed else verdict.links:
            self.bad_links.add((a, b))
            twice = next((end for end in (a, b) if sum(end in link for link in self.bad_links) > 1), None)
            end = twice or max((a, b), key=nodes.index)
            blamed[end] = _reason(end, verdict)
            self.put_aside[end] = "" if twice else (b if end == a else a)
        for host, other in list(self.put_aside.items()):
            if other in blamed and self.put_aside.get(other) == "":  # it was the other end all along
                ward.release(host)
                del self.put_aside[host]
        for node, reason in blamed.items():
            ward.put(node, f"{reason} (gate of {self.name})", seconds)
        return list(blamed)


def launch_with_spares(request: Request, options: Options, start: Callable[[Request, Options], int]) -> int:
    """`start` again and again, until a gate opens or nobody is left to replace a bad node."""
    search: Search | None = None
    while True:
        try:
            return start(request, options)
        except GateClosed as closed:
            wanted = wanted_nodes(request, read_request(request))
            search = search or Search(request.name or run_name(request.profile))
            if not goes_on(search, closed.verdict, closed.nodes, wanted, options):
                raise


def goes_on(search: Search, verdict: Verdict, nodes: list[str], wanted: int, options: Options) -> bool:
    """Put the bad nodes aside; whether enough others are left."""
    with open_fleet(options) as fleet:
        seconds = seconds_of(str(fleet.variable("localhost", "train_quarantine", DEFAULT_TIME)))
        leaving = search.take(verdict, nodes, Quarantine(fleet), seconds)
        left = usable_hosts(fleet, options)[:wanted]
    if leaving:
        _say(f"quarantine for {', '.join(leaving)} (invoke nodes.list tells of it, nodes.release ends it)")
    if not leaving or len(left) < wanted:
        return False
    _say(f"the gate stays closed: {'; '.join(verdict.lines)}\n{search.name} goes on with {', '.join(left)}")
    return True


def _reason(node: str, verdict: Verdict) -> str:
    return next((line for line in verdict.lines if node in line.replace(",", " ").split()), verdict.lines[0])


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
