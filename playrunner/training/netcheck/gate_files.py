"""What is kept of a network check in its run's folder: the result, the table with what it means,
and the all-reduce as a chart."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from playrunner.training.netcheck.chart_svg import chart_svg
from playrunner.training.netcheck.verdict_table import table
from trainer.netcheck.verdict import Verdict

_GIGABITS = 8  # of a gigabyte


def keep_gate(folder: Path, result: Mapping[str, Any], verdict: Verdict) -> None:
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    judged = {**result, "verdict": {"ok": verdict.ok, "lines": verdict.lines}}
    (folder / "gate.json").write_text(json.dumps(judged, indent=1) + "\n")
    (folder / "gate.txt").write_text(table(result) + "\n" + "\n".join(verdict.lines) + "\n")
    rates = [
        (int(each["bytes"]), each["bus_gbps"] / _GIGABITS)
        for each in result.get("all_reduce", ())
        if each.get("bus_gbps")
    ]
    (folder / "gate.svg").unlink(missing_ok=True)  # an earlier check's, which may have got further
    if rates:
        (folder / "gate.svg").write_text(chart_svg(rates))
