"""`--json`: prints one JSON document to standard output."""

from __future__ import annotations

import sys
from typing import Any

from playrunner.text.streams import as_json


def print_json(value: Any) -> None:
    sys.stdout.write(as_json(value, indent=2) + "\n")
