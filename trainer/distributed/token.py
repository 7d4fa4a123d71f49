"""The run's token: a secret by which the processes of one run recognise each other, never on a
command line."""

from __future__ import annotations

import os
from pathlib import Path


def run_token() -> str:
    """From the file that TRAINER_TOKEN names, else from TRAINER_RUN_TOKEN (a Secret's); "" without
    either."""
    file = os.environ.get("TRAINER_TOKEN")
    return Path(file).read_text().strip() if file else os.environ.get("TRAINER_RUN_TOKEN", "")
