"""What is kept of a gate in its run's folder: the result, the table with what it means, and the
all-reduce as a picture."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from playrunner.training.netcheck.picture import picture
from playrunner.training.netcheck.verdict import Verdict, table

_GIGABITS = 8  # of a gigabyte


def keep_gate(folder: Path, result: Mapping[str, Any], verdict: Verdict) -> None:
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    (folder / "gate.json").write_text(json.dumps(result, indent=1) + "\n")
    (folder / "gate.txt").write_text(table(result) + "\n" + "\n".join(verdict.lines) + "\n")
    rates = [
        (int(each["bytes"]), each["bus_gbps"] / _GIGABITS)
        for each in result.get("all_reduce", ())
        if each.get("bus_gbps")
    ]
    (folder / "gate.png").unlink(missing_ok=True)  # an earlier gate's, which may have come further
    if rates:
        (folder / "gate.png").write_bytes(picture(rates))
