"""A gate's result as plain text: all-reduce per size, then each pair of nodes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from statistics import median
from typing import Any

from trainer.netcheck.units import rate_text, size_text, time_text

_MATRIX_NODES = 8  # eight columns of figures are what a hundred columns of text hold
_WORST = 10
_CELL, _NAME = 9, 22


def table(result: Mapping[str, Any]) -> str:
    """Readable in 100 columns: a matrix for up to eight nodes, the worst pairs for more."""
    nodes, pairs = list(result.get("nodes", ())), list(result.get("pairs", ()))
    lines = [_heading(result, nodes)]
    if result.get("problem"):
        lines.append(str(result["problem"]))
    lines += [
        f"missing: {each['node']} (rank {each['rank']}, {each['when']})"
        for each in result.get("missing", ())
    ]
    lines += _sums(result.get("all_reduce", ()))
    if pairs:
        lines += _matrix(nodes, pairs) if len(nodes) <= _MATRIX_NODES else _worst(pairs)
    return "\n".join(lines) + "\n"


def _heading(result: Mapping[str, Any], nodes: Sequence[str]) -> str:
    parts = [f"{len(nodes)} node{'s' if len(nodes) != 1 else ''}", f"{result['world_size']} ranks"]
    if result.get("backend"):
        parts.append(str(result["backend"]))
    rounds = result.get("rounds") or {}
    if rounds.get("done", 0) < rounds.get("planned", 0):
        parts.append(f"{rounds['done']} of {rounds['planned']} rounds of pairs")
    measuring = (
        f" ({result['measuring_seconds']:.1f} s of it measuring)"
        if "measuring_seconds" in result
        else ""
    )
    return ", ".join([*parts, f"{result['seconds']:.1f} s{measuring}"])


def _sums(sums: Iterable[Mapping[str, Any]]) -> list[str]:
    lines = ["", "all-reduce        time   bus bandwidth   wrong"]
    for each in sums:
        size = size_text(each["bytes"])
        if each.get("error"):
            lines.append(f"{size:<10}  failed: {each['error']}"[:100])
        else:
            taken, rate = time_text(each["seconds"] * 1e6), rate_text(each["bus_gbps"])
            lines.append(f"{size:<10}{taken:>12}{rate:>16}{each['wrong']:>8}")
    return lines if len(lines) > 2 else []


def _matrix(nodes: Sequence[str], pairs: Iterable[Mapping[str, Any]]) -> list[str]:
    """One square: what two nodes carry above the diagonal, how long a message takes below it."""
    cells: dict[tuple[str, str], str] = {}
    for each in pairs:
        high, low = sorted((each["a"], each["b"]), key=nodes.index)
        if "error" in each:
            cells[high, low] = cells[low, high] = "dead" if each.get("tried", True) else "-"
        else:
            cells[high, low], cells[low, high] = (
                _short_rate(each["gbps"]),
                time_text(each["latency_us"]).replace(" ", ""),
            )
    width = max(len(_clipped(node, _NAME)) for node in nodes) + 1
    lines = [
        "",
        "pairs: Gbit/s above the diagonal, latency below",
        " " * width + "".join(f"{_clipped(node, _CELL - 1):>{_CELL}}" for node in nodes),
    ]
    for row in nodes:
        figures = (cells.get((row, column), ".") if row != column else "\\" for column in nodes)
        lines.append(
            f"{_clipped(row, _NAME):<{width}}" + "".join(f"{each:>{_CELL}}" for each in figures)
        )
    return lines


def _worst(pairs: Sequence[Mapping[str, Any]]) -> list[str]:
    good = [each for each in pairs if "error" not in each]
    usual = [each for each in pairs if "error" in each]
    lines = [""]
    if good:
        gbps, latency_us = (
            median(each["gbps"] for each in good),
            median(each["latency_us"] for each in good),
        )
        lines.append(
            f"{len(pairs)} pairs, median {rate_text(gbps)}, {time_text(latency_us)}; the worst:"
        )
        usual += sorted(
            good, key=lambda each: -max(gbps / each["gbps"], each["latency_us"] / latency_us)
        )
    for each in usual[:_WORST]:
        names = f"{_clipped(each['a'], _NAME):<{_NAME}} - {_clipped(each['b'], _NAME):<{_NAME}}"
        figures = (
            each.get("error") or f"{rate_text(each['gbps']):>14}{time_text(each['latency_us']):>12}"
        )
        lines.append(f"  {names}  {figures}"[:100].rstrip())
    return lines


def _short_rate(gbps: float) -> str:
    return f"{gbps:.1f}" if gbps >= 10 else f"{gbps:.2f}" if gbps >= 0.1 else f"{gbps:.4f}"


def _clipped(name: str, width: int) -> str:
    """Nodes of one cluster differ at the end of their names."""
    return name if len(name) <= width else "~" + name[1 - width :]
