"""The verdict on a network check's result: which node or link is dead or slow, against what was
expected.

Rank 0 judges before training starts, since no controller may be connected; over SSH the controller
judges the same result, to replace nodes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from trainer.frozen import frozen
from trainer.netcheck.findings import NODE_SHARE, Expected, Findings
from trainer.netcheck.slow_links import slow_findings
from trainer.netcheck.units import rate_text, size_text, time_text


@frozen
class Verdict:
    ok: bool
    lines: tuple[str, ...]  # one finding each, the worst first
    suspects: tuple[str, ...]  # nodes, the worst first; the ends of a bad link come last
    culprits: tuple[str, ...] = ()  # those of them that are certainly at fault
    links: tuple[tuple[str, str], ...] = ()  # bad links without a culprit at either end


def judge(result: Mapping[str, Any], expected: Expected) -> Verdict:
    """Dead before wrong before slow; a result with dead nodes is still searched for slow ones."""
    checks = [check(result) for check in (_missing_nodes, _dead, _without_gpu, _wrong_sums)]
    if not any(findings.lines for findings in checks):
        checks.append(_failed_sums(result))
    checks.append(slow_findings(result, expected))
    lines = tuple(line for findings in checks for line in findings.lines)
    if not lines:
        return Verdict(True, (_summary(result, expected),), ())
    suspects = (name for findings in checks for name in findings.suspects)
    culprits = (name for findings in checks for name in findings.culprits)
    links = (link for findings in checks for link in findings.links)
    return Verdict(
        False,
        lines,
        tuple(dict.fromkeys(suspects)),
        tuple(dict.fromkeys(culprits)),
        tuple(links),
    )


def _missing_nodes(result: Mapping[str, Any]) -> Findings:
    lines = [result["problem"]] if result.get("problem") else []
    named = []
    for missing in result.get("missing", ()):
        node, rank = missing["node"], missing["rank"]
        process = node if node == f"rank {rank}" else f"{node} (rank {rank})"
        named.append(node)
        if result.get("problem"):
            continue  # it names them already
        if missing["when"] == "joining":
            lines.append(
                f"{process} never joined; check that it is up and can reach the master's port"
            )
        else:
            lines.append(
                f"{process} stopped answering during the network check ({missing['when']})"
            )
    return Findings(tuple(lines), tuple(named))


def _dead(result: Mapping[str, Any]) -> Findings:
    """Nodes with all or most links dead, whose partners answer others; else the links."""
    pairs = result.get("pairs", ())
    missing = {node["node"] for node in result.get("missing", ())}
    failed = [
        pair
        for pair in pairs
        if "error" in pair and pair.get("tried", True) and not missing & {pair["a"], pair["b"]}
    ]
    answering = {node for pair in pairs if "error" not in pair for node in (pair["a"], pair["b"])}
    if not answering and len(failed) > 1:
        line = (
            f"no two nodes can reach each other ({len(failed)} pairs tried): {failed[0]['error']};"
            " check the network interface (GLOO_SOCKET_IFNAME, NCCL_SOCKET_IFNAME) and the firewall"
            " between nodes"
        )
        return Findings((line,))
    lines, links = [], []
    named: dict[str, None] = {}
    good = Counter(end for pair in pairs if "error" not in pair for end in (pair["a"], pair["b"]))
    dead: dict[str, list[str]] = {}
    for pair in failed:
        dead.setdefault(pair["a"], []).append(pair["b"])
        dead.setdefault(pair["b"], []).append(pair["a"])
    for pair in failed:
        for node, other in ((pair["a"], pair["b"]), (pair["b"], pair["a"])):
            if node in named or other in named or other not in answering:
                continue
            if line := _dead_node(node, pair["error"], dead[node], good[node]):
                lines.append(line)
                named[node] = None
    for pair in failed:
        if pair["a"] not in named and pair["b"] not in named:
            lines.append(f"the link {pair['a']} - {pair['b']} is dead: {pair['error']}")
            links.append((pair["a"], pair["b"]))
    return Findings(tuple(lines), tuple(named), tuple(links))


def _dead_node(node: str, error: str, dead: Sequence[str], good: int) -> str:
    """The finding when this node's links are all or mostly dead; else ""."""
    if not good:
        return (
            f"{node} does not answer any node (tried: {_listed(dead)}), which answer others:"
            f" {error}"
        )
    if len(dead) > 1 and len(dead) >= NODE_SHARE * (len(dead) + good):
        return (
            f"{node} does not reach {len(dead)} of {len(dead) + good} nodes"
            f" ({_listed(dead)}): {error}"
        )
    return ""


def _without_gpu(result: Mapping[str, Any]) -> Findings:
    bare = tuple(result.get("without_device", ()))
    return (
        Findings((f"{_listed(bare)}: no GPU for every rank, while other nodes have one",), bare)
        if bare
        else Findings()
    )


def _wrong_sums(result: Mapping[str, Any]) -> Findings:
    return Findings(
        tuple(
            f"all-reduce of {size_text(line['bytes'])}: {line['wrong']} wrong values"
            for line in result.get("all_reduce", ())
            if line.get("wrong")
        )
    )


def _failed_sums(result: Mapping[str, Any]) -> Findings:
    """Only reported without any other finding."""
    return Findings(
        tuple(
            f"all-reduce of {size_text(line['bytes'])} failed, though every pair answers:"
            f" {line['error']}"
            for line in result.get("all_reduce", ())
            if line.get("error")
        )
    )


def _summary(result: Mapping[str, Any], expected: Expected) -> str:
    pairs = result.get("pairs", ())
    nodes = len(result.get("nodes", ()))
    text = f"{nodes} node{'s' if nodes != 1 else ''} answer"
    if pairs:
        text += (
            f"; slowest link {rate_text(min(pair['gbps'] for pair in pairs))}, latency at most "
            f"{time_text(max(pair['latency_us'] for pair in pairs))}"
        )
    if expected.gbps is not None:
        text += f"; expected {rate_text(expected.gbps)}"
    sums = [line for line in result.get("all_reduce", ()) if line.get("bus_gbps")]
    text += f"; all-reduce {rate_text(sums[-1]['bus_gbps'])}" if sums else ""
    shared = result.get("one_machine") and expected.gbps is None
    return text + ("; links are not compared, all are of one machine" if shared else "")


def _listed(names: Iterable[str]) -> str:
    return ", ".join(names)
