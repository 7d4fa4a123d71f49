"""Slow nodes and links in a network check's result: against what was expected, or against each
other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import median
from typing import Any

from trainer.frozen import frozen
from trainer.netcheck.findings import NODE_SHARE, Expected, Findings
from trainer.netcheck.units import rate_text, size_text, time_text

# Without expectations, nodes are compared with each other, and a busy machine must not look like a
# bad one: on two cores shared by eight processes a message waits whole time slices (3-4 ms
# each) for its turn, which is many times an idle loopback's 0.05 ms. So besides being `slow_factor`
# worse than the best third of the links, a link must lose more than that noise, in absolute time:
# per small message for latency, per MiB for bandwidth. GPUs with NCCL have no such waits. 5 ms per
# MiB still detects a card that fell back from 10 to 1 Gbit/s (8.4 ms instead of 0.84).
_NOISE_SECONDS = {"gloo": (0.005, 0.005), "nccl": (0.0002, 0.0002)}
# A slow link without a second one at either end must lose this many times the noise
_SINGLE_LINK_FACTOR = 3
_MIB_GIGABITS = 2**20 * 8 / 1e9
_ENOUGH_LINKS = 3  # two nodes have one link and nothing to compare it with; three nodes have three


@frozen
class _Link:
    a: str
    b: str
    gbps: float
    latency_us: float

    @property
    def ends(self) -> tuple[str, str]:
        return (self.a, self.b)


@frozen
class _Slow:
    """The slow links, and what they are compared with."""

    links: dict[_Link, float]  # how many times worse
    certain: frozenset[_Link]  # slow even without a second slow link at either end
    gbps: float | None  # what a link should have
    latency_us: float | None
    compared: str  # "expected" or "the others have"


def slow_findings(result: Mapping[str, Any], expected: Expected) -> Findings:
    links = [
        _Link(pair["a"], pair["b"], pair["gbps"], pair["latency_us"])
        for pair in result.get("pairs", ())
        if "error" not in pair
    ]
    if result.get("one_machine") and expected.gbps is None and expected.latency_us is None:
        return Findings()  # its nodes take turns on the same cores: only chance tells them apart
    slow = _slow_links(links, expected, result.get("backend") or "gloo")
    if not slow.links:
        return _slow_sum(result, expected) if not links else Findings()
    if len(slow.links) == len(links) > 1:
        ranked = sorted(
            {node for link in links for node in link.ends},
            key=lambda node: -_typical(node, slow.links),
        )
        return Findings((f"every link is slow: {_measured(links, slow)}",), ranked=tuple(ranked))
    lines, named, rest = [], [], dict.fromkeys(links)
    while (culprit := _culprit(list(rest), slow.links)) is not None:
        own = [link for link in rest if culprit in link.ends]
        bad = [link for link in own if link in slow.links]
        lines.append(f"{culprit} is slow to {len(bad)} of {len(own)} nodes: {_measured(bad, slow)}")
        named.append(culprit)
        rest = {link: None for link in rest if culprit not in link.ends}
    alone = sorted(
        (link for link in rest if link in slow.certain), key=lambda link: -slow.links[link]
    )
    lines += [f"the link {link.a} - {link.b} is slow: {_measured([link], slow)}" for link in alone]
    return Findings(tuple(lines), tuple(named), tuple(link.ends for link in alone))


def _slow_links(links: Sequence[_Link], expected: Expected, backend: str) -> _Slow:
    """Against the expectation, if there is one; else against the better links and the noise of a
    busy machine."""
    if expected.gbps is None and expected.latency_us is None:
        return _slower_than_others(
            links, expected.slow_factor, _NOISE_SECONDS.get(backend, _NOISE_SECONDS["gloo"])
        )
    worse = {link: _times_worse(link, expected.gbps, expected.latency_us) for link in links}
    slow = {link: times for link, times in worse.items() if times > expected.slow_factor}
    return _Slow(slow, frozenset(slow), expected.gbps, expected.latency_us, "expected")


def _slower_than_others(links: Sequence[_Link], factor: float, noise: tuple[float, float]) -> _Slow:
    if len(links) < _ENOUGH_LINKS:
        return _Slow({}, frozenset(), None, None, "")
    # The best third and not the median: one slow node among three makes two of the three links
    # slow.
    third = max(1, len(links) // 3)
    gbps = median(sorted((link.gbps for link in links), reverse=True)[:third])
    latency_us = median(sorted(link.latency_us for link in links)[:third])
    lost: dict[_Link, float] = {}  # in times the noise
    for link in links:
        late = (
            (link.latency_us - latency_us) / 1e6 / noise[0]
            if link.latency_us > latency_us * factor
            else 0.0
        )
        narrow = (
            _MIB_GIGABITS * (1 / link.gbps - 1 / gbps) / noise[1]
            if link.gbps * factor < gbps
            else 0.0
        )
        lost[link] = max(late, narrow)
    slow = {link: _times_worse(link, gbps, latency_us) for link in links if lost[link] > 1}
    return _Slow(
        slow,
        frozenset(link for link in slow if lost[link] > _SINGLE_LINK_FACTOR),
        gbps,
        latency_us,
        "the others have",
    )


def _times_worse(link: _Link, gbps: float | None, latency_us: float | None) -> float:
    return max(
        gbps / link.gbps if gbps is not None else 0.0,
        link.latency_us / latency_us if latency_us is not None else 0.0,
    )


def _culprit(links: Sequence[_Link], slow: Mapping[_Link, float]) -> str | None:
    """The node with the largest share of slow links, if that is large enough; among equals the
    slowest."""
    best: tuple[float, float, str] | None = None
    by_node: dict[str, list[_Link]] = {}
    for link in links:
        for node in link.ends:
            by_node.setdefault(node, []).append(link)
    for node, own in by_node.items():
        bad = {link: slow[link] for link in own if link in slow}
        if len(bad) >= 2 and len(bad) >= NODE_SHARE * len(own):
            best = max(best or (0.0, 0.0, ""), (len(bad) / len(own), _typical(node, bad), node))
    return best[2] if best else None


def _typical(node: str, slow: Mapping[_Link, float]) -> float:
    return median([times for link, times in slow.items() if node in link.ends] or [0.0])


def _measured(links: Sequence[_Link], slow: _Slow) -> str:
    """The figures against what they should be; of several links the median."""
    gbps, latency_us = (
        median(link.gbps for link in links),
        median(link.latency_us for link in links),
    )
    parts = []
    if slow.gbps is not None:
        parts.append(f"{rate_text(gbps)} measured, {slow.compared} {rate_text(slow.gbps)}")
    if slow.latency_us is not None:
        parts.append(
            f"latency {time_text(latency_us)}, {slow.compared} {time_text(slow.latency_us)}"
        )
    return "; ".join(parts)


def _slow_sum(result: Mapping[str, Any], expected: Expected) -> Findings:
    """Ranks of a single node have no pairs: their all-reduce is judged."""
    sums = [line for line in result.get("all_reduce", ()) if line.get("bus_gbps")]
    if (
        not sums
        or expected.gbps is None
        or sums[-1]["bus_gbps"] * expected.slow_factor >= expected.gbps
    ):
        return Findings()
    return Findings(
        (
            (
                f"all-reduce of {size_text(sums[-1]['bytes'])}: {rate_text(sums[-1]['bus_gbps'])}"
                f" measured, expected {rate_text(expected.gbps)}"
            ),
        )
    )
