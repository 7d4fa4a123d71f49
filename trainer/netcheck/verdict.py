"""What a gate's result says: which node or link is dead or slow, against what was expected.

Over SSH whoever launches a run judges before it goes on; in a cluster rank 0 does, since nobody may
be there to ask.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from trainer.netcheck.units import rate_text, size_text, time_text

# A node is the culprit when this share of its links is bad; less, and the links are named by
# themselves. Not all of them: one lucky figure must not turn a slow node into a handful of slow
# links.
_NODE_SHARE = 0.75

# With nothing expected, nodes are compared with one another, and then a busy machine must not look
# like a bad one: on two cores shared by eight processes a message waits whole time slices (3-4 ms
# each) for its turn, which is many times an idle loopback's 0.05 ms. So besides being `slow_factor`
# worse than the best third of the links, a link must lose more than that noise, in absolute time:
# per small message for latency, per MiB for bandwidth. GPUs with NCCL have no such waits. 5 ms per
# MiB still tells a card that fell back from 10 to 1 Gbit/s (8.4 ms instead of 0.84).
# that fell back from 10 to 1 Gbit/s (8.4 ms instead of 0.84).
# from 10 to 1 Gbit/s (8.4 ms instead of 0.84).
# (8.4 ms instead of 0.84).
# 0.84).
_NOISE_SECONDS = {"gloo": (0.005, 0.005), "nccl": (0.0002, 0.0002)}
# A link that is slow by itself has no second witness, so it must lose this many times the noise
_ALONE = 3
_MIB_GIGABITS = 2**20 * 8 / 1e9
_ENOUGH_LINKS = 3  # two nodes have one link and nothing to compare it with; three nodes have three


@dataclass(frozen=True)
class Expected:
    """The inventory's train_expected_gbps and train_expected_latency_us; a link may be
    `slow_factor` times worse."""

    gbps: float | None = None
    latency_us: float | None = None
    slow_factor: float = 3.0


@dataclass(frozen=True)
class Verdict:
    ok: bool
    lines: tuple[str, ...]  # for people; one finding each, the worst first
    suspects: tuple[str, ...]  # nodes, the worst first; the ends of a bad link come last
    culprits: tuple[str, ...] = ()  # those of them that are to blame by themselves
    links: tuple[tuple[str, str], ...] = ()  # bad links neither end of which is


@dataclass(frozen=True)
class _Findings:
    """What one look at the result found."""

    lines: tuple[str, ...] = ()
    culprits: tuple[str, ...] = ()
    links: tuple[tuple[str, str], ...] = ()
    ranked: tuple[str, ...] = ()  # suspects none of whom can be blamed alone


@dataclass(frozen=True)
class _Link:
    a: str
    b: str
    gbps: float
    latency_us: float

    @property
    def ends(self) -> tuple[str, str]:
        return (self.a, self.b)


@dataclass(frozen=True)
class _Slow:
    """How much worse than it should be, and against what."""

    links: dict[_Link, float]  # the slow ones, with how many times worse
    plain: frozenset[
        _Link
    ]  # those of them that are slow beyond doubt, even without a second slow link at either end
    gbps: float | None  # what a link should have
    latency_us: float | None
    compared: str  # "expected" or "the others have"


def judge(result: Mapping[str, Any], expected: Expected) -> Verdict:
    """Dead before wrong before slow; a result with dead nodes is still searched for slow ones."""
    found = [find(result) for find in (_absent, _dead, _unequal, _wrong)]
    if not any(each.lines for each in found):
        found.append(_failed_sums(result))
    found.append(_slow(result, expected))
    lines = tuple(line for each in found for line in each.lines)
    if not lines:
        return Verdict(True, (_good_news(result, expected),), ())
    suspects = (
        name
        for each in found
        for name in (*each.culprits, *each.ranked, *(end for link in each.links for end in link))
    )
    culprits = tuple(dict.fromkeys(name for each in found for name in each.culprits))
    return Verdict(
        False,
        lines,
        tuple(dict.fromkeys(suspects)),
        culprits,
        tuple(link for each in found for link in each.links),
    )


def _absent(result: Mapping[str, Any]) -> _Findings:
    lines = [result["problem"]] if result.get("problem") else []
    named = []
    for each in result.get("missing", ()):
        who = (
            each["node"]
            if each["node"] == f"rank {each['rank']}"
            else f"{each['node']} (rank {each['rank']})"
        )
        named.append(each["node"])
        if result.get("problem"):
            continue  # it names them already
        if each["when"] == "joining":
            lines.append(
                f"{who} never joined; look whether it is up and can reach the master's port"
            )
        else:
            lines.append(f"{who} stopped answering during the gate ({each['when']})")
    return _Findings(tuple(lines), tuple(named))


def _dead(result: Mapping[str, Any]) -> _Findings:
    """Nodes that answered nobody, or hardly anybody, although their partners answer others; else
    the links themselves."""
    pairs = result.get("pairs", ())
    gone = {each["node"] for each in result.get("missing", ())}
    failed = [
        each
        for each in pairs
        if "error" in each and each.get("tried", True) and not gone & {each["a"], each["b"]}
    ]
    spoke = {node for each in pairs if "error" not in each for node in (each["a"], each["b"])}
    if not spoke and len(failed) > 1:
        return _Findings(
            (
                (
                    f"no two nodes can speak to each other ({len(failed)} pairs tried):"
                    f" {failed[0]['error']}; look at the network interface chosen"
                    " (GLOO_SOCKET_IFNAME, NCCL_SOCKET_IFNAME) and at the firewall between nodes"
                ),
            )
        )
    lines, named, links = [], [], []
    for each in failed:
        for node, other in ((each["a"], each["b"]), (each["b"], each["a"])):
            silent = [_other(pair, node) for pair in failed if node in (pair["a"], pair["b"])]
            heard = sum("error" not in pair for pair in pairs if node in (pair["a"], pair["b"]))
            if node in named or other in named or other not in spoke:
                continue
            if node not in spoke:
                lines.append(
                    f"{node} answers nobody (tried: {_listed(silent)}), who answer others:"
                    f" {each['error']}"
                )
                named.append(node)
            elif len(silent) > 1 and len(silent) >= _NODE_SHARE * (len(silent) + heard):
                lines.append(
                    f"{node} does not reach {len(silent)} of {len(silent) + heard} nodes"
                    f" ({_listed(silent)}): {each['error']}"
                )
                named.append(node)
    for each in failed:
        if each["a"] not in named and each["b"] not in named:
            lines.append(f"the link {each['a']} - {each['b']} is dead: {each['error']}")
            links.append((each["a"], each["b"]))
    return _Findings(tuple(lines), tuple(named), tuple(links))


def _unequal(result: Mapping[str, Any]) -> _Findings:
    bare = tuple(result.get("without_device", ()))
    return (
        _Findings((f"{_listed(bare)}: no GPU for every rank, while other nodes have one",), bare)
        if bare
        else _Findings()
    )


def _wrong(result: Mapping[str, Any]) -> _Findings:
    return _Findings(
        tuple(
            f"all-reduce of {size_text(each['bytes'])}: {each['wrong']} wrong values"
            for each in result.get("all_reduce", ())
            if each.get("wrong")
        )
    )


def _failed_sums(result: Mapping[str, Any]) -> _Findings:
    """Only worth saying when nobody is to blame for it."""
    return _Findings(
        tuple(
            f"all-reduce of {size_text(each['bytes'])} failed, though every pair answers:"
            f" {each['error']}"
            for each in result.get("all_reduce", ())
            if each.get("error")
        )
    )


def _slow(result: Mapping[str, Any], expected: Expected) -> _Findings:
    links = [
        _Link(each["a"], each["b"], each["gbps"], each["latency_us"])
        for each in result.get("pairs", ())
        if "error" not in each
    ]
    slow = _slow_links(links, expected, result.get("backend") or "gloo")
    if not slow.links:
        return _slow_sum(result, expected) if not links else _Findings()
    if len(slow.links) == len(links) > 1:
        ranked = sorted(
            {node for link in links for node in link.ends},
            key=lambda node: -_typical(node, slow.links),
        )
        return _Findings((f"every link is slow: {_measured(links, slow)}",), ranked=tuple(ranked))
    lines, named, rest = [], [], dict.fromkeys(links)
    while (culprit := _culprit(list(rest), slow.links)) is not None:
        own = [link for link in rest if culprit in link.ends]
        bad = [link for link in own if link in slow.links]
        lines.append(f"{culprit} is slow to {len(bad)} of {len(own)} nodes: {_measured(bad, slow)}")
        named.append(culprit)
        rest = {link: None for link in rest if culprit not in link.ends}
    alone = sorted(
        (link for link in rest if link in slow.plain), key=lambda link: -slow.links[link]
    )
    lines += [f"the link {link.a} - {link.b} is slow: {_measured([link], slow)}" for link in alone]
    return _Findings(tuple(lines), tuple(named), tuple(link.ends for link in alone))


def _slow_links(links: Sequence[_Link], expected: Expected, backend: str) -> _Slow:
    """With an expectation that alone decides; without, the better links and the noise a machine may
    make."""
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
        frozenset(link for link in slow if lost[link] > _ALONE),
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
    for node in {node for link in links for node in link.ends}:
        own = [link for link in links if node in link.ends]
        bad = {link: slow[link] for link in own if link in slow}
        if len(bad) >= 2 and len(bad) >= _NODE_SHARE * len(own):
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


def _slow_sum(result: Mapping[str, Any], expected: Expected) -> _Findings:
    """Ranks of a single node have no pairs; their all-reduce is all there is to judge."""
    sums = [each for each in result.get("all_reduce", ()) if each.get("bus_gbps")]
    if (
        not sums
        or expected.gbps is None
        or sums[-1]["bus_gbps"] * expected.slow_factor >= expected.gbps
    ):
        return _Findings()
    return _Findings(
        (
            (
                f"all-reduce of {size_text(sums[-1]['bytes'])}: {rate_text(sums[-1]['bus_gbps'])}"
                f" measured, expected {rate_text(expected.gbps)}"
            ),
        )
    )


def _good_news(result: Mapping[str, Any], expected: Expected) -> str:
    pairs = result.get("pairs", ())
    nodes = len(result.get("nodes", ()))
    text = f"{nodes} node{'s' if nodes != 1 else ''} answer"
    if pairs:
        text += (
            f"; slowest link {rate_text(min(each['gbps'] for each in pairs))}, latency at most "
            f"{time_text(max(each['latency_us'] for each in pairs))}"
        )
    if expected.gbps is not None:
        text += f"; expected {rate_text(expected.gbps)}"
    sums = [each for each in result.get("all_reduce", ()) if each.get("bus_gbps")]
    return text + (f"; all-reduce {rate_text(sums[-1]['bus_gbps'])}" if sums else "")


def _other(pair: Mapping[str, Any], node: str) -> str:
    return str(pair["b"] if pair["a"] == node else pair["a"])


def _listed(names: Iterable[str]) -> str:
    return ", ".join(names)
