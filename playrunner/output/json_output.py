"""`--json`: prints one JSON document to standard output."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

from playrunner.results import Result
from playrunner.text.streams import as_json


def print_json(value: Any) -> None:
    sys.stdout.write(as_json(value, indent=2) + "\n")


def result_data(result: Result) -> dict[str, Any]:
    return {
        "host": result.host,
        "step": result.step,
        "module": result.module,
        "status": result.status,
        "changed": result.changed,
        "seconds": result.seconds,
        "place": str(result.place),
        "ignored": result.ignored,
        "rescued": result.rescued,
        "values": shown_values(result.values),
    }


def shown_values(values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if not name.startswith("_")}
