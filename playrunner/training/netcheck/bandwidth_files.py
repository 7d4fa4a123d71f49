"""What is kept of a measurement: the programs' output, the table, the figures and the chart, in
the run's folder."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

from playrunner.training.netcheck.chart_svg import chart_svg
from playrunner.training.netcheck.judgement import ExpectedBandwidth, Judgement
from playrunner.training.netcheck.perf_table import Measured
from playrunner.training.netcheck.references import reference
from trainer.netcheck.units import size_text, time_text

_BAR = 30  # columns of the longest bar
_EIGHTHS = " ▏▎▍▌▋▊▉█"


def chart(measured: Measured) -> str:
    """One line for each size: time, bandwidth and a bar of it."""
    most = max([row.bus_gbytes for row in measured.rows] + [1e-9])
    lines = ["all-reduce        time  bus bandwidth   wrong"]
    for row in measured.rows:
        lines.append(
            f"{size_text(row.bytes):<10}{time_text(row.microseconds):>12}{row.bus_gbytes:>10.3f}"
            f" GB/s{row.wrong:>8}  {_bar(row.bus_gbytes / most)}".rstrip()
        )
    return "\n".join(lines)


def as_data(measured: Measured, judgement: Judgement, folder: Path) -> dict[str, Any]:
    return {
        "rows": [asdict(row) for row in measured.rows],
        "devices": dict(measured.devices),
        "average": measured.average,
        "provider": measured.provider,
        "cards": measured.cards,
        "wrong": measured.wrong,
        "ok": judgement.ok,
        "lines": list(judgement.lines),
        "folder": str(folder),
    }


def keep(
    folder: Path, output: str, measured: Measured, judgement: Judgement, wanted: ExpectedBandwidth
) -> None:
    (folder / "bandwidth.log").write_text(output)
    (folder / "bandwidth.json").write_text(
        json.dumps(as_data(measured, judgement, folder), indent=1) + "\n"
    )
    if measured.rows:
        known = reference(wanted.instance_type)
        (folder / "bandwidth.txt").write_text(
            chart(measured) + "\n" + "\n".join(judgement.lines) + "\n"
        )
        (folder / "bandwidth.svg").write_text(
            chart_svg(
                [(row.bytes, row.bus_gbytes) for row in measured.rows],
                known.bus_gbytes if known else None,
            )
        )


def _bar(share: float) -> str:
    eighths = round(share * _BAR * 8)
    return "█" * (eighths // 8) + _EIGHTHS[eighths % 8].strip()
