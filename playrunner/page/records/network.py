"""The network check of a run as a matrix: what two nodes carry, and how long a message takes."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from statistics import median
from typing import Any

from playrunner.errors import BadInput
from playrunner.frozen import frozen
from playrunner.text.documents import read_json_object
from trainer.netcheck.units import rate_text, size_text, time_text

MOST_NODES = 64
SLOW_SHARE = 0.5  # of the median: such a link is marked


@frozen
class Cell:
    text: str
    kind: str  # good, slow, dead or self


@frozen
class Network:
    nodes: tuple[str, ...]
    rows: tuple[tuple[str, tuple[Cell, ...]], ...]
    sums: tuple[tuple[str, str, str], ...]  # all-reduce: size, time, bandwidth
    text: str  # the verdict, in words


def read_network(folder: Path) -> Network | None:
    try:
        result = read_json_object(folder / "gate.json")
    except BadInput:
        return None
    try:
        verdict = (folder / "gate.txt").read_text(errors="replace").strip().rpartition("\n\n")[2]
    except OSError:
        verdict = ""
    try:
        return _network(result, verdict)
    except (KeyError, TypeError, ValueError):
        return None  # a host wrote it


def _network(result: Mapping[str, Any], verdict: str) -> Network:
    nodes = tuple(str(node) for node in result.get("nodes", ()))[:MOST_NODES]
    pairs = {frozenset((str(pair["a"]), str(pair["b"]))): pair for pair in result.get("pairs", ())}
    rates = [float(pair["gbps"]) for pair in pairs.values() if "error" not in pair]
    usual = median(rates) if rates else 0.0
    rows = tuple(
        (row, tuple(_cell(pairs, row, column, usual, nodes) for column in nodes)) for row in nodes
    )
    sums = tuple(
        (
            size_text(int(each["bytes"])),
            "-" if each.get("error") else time_text(float(each["seconds"]) * 1e6),
            str(each["error"]) if each.get("error") else rate_text(float(each["bus_gbps"])),
        )
        for each in result.get("all_reduce", ())
    )
    return Network(nodes, rows, sums, verdict)


def _cell(
    pairs: Mapping[frozenset[str], Mapping[str, Any]],
    row: str,
    column: str,
    usual: float,
    nodes: tuple[str, ...],
) -> Cell:
    pair = pairs.get(frozenset((row, column)))
    if row == column or pair is None:
        return Cell("", "self")
    if "error" in pair:
        return Cell("dead" if pair.get("tried", True) else "-", "dead")
    slow = float(pair["gbps"]) < SLOW_SHARE * usual
    above = nodes.index(row) < nodes.index(column)
    text = rate_text(float(pair["gbps"])) if above else time_text(float(pair["latency_us"]))
    return Cell(text, "slow" if slow else "good")
