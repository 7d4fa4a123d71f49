"""One process from start to end: wall time, CPU with its children, memory of its largest part, what
it said."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

KIB_PER_RSS_UNIT = 1 if sys.platform.startswith("linux") else 1 / 1024  # macOS counts bytes


@dataclass(frozen=True)
class Measured:
    """What one process took."""

    wall_seconds: float
    cpu_seconds: float
    peak_mib: float
    code: int
    output: str


def measure(command: Sequence[str], environment: Mapping[str, str], folder: Path) -> Measured:
    """Run the command; CPU counts it and every child that it waited for, memory its largest single
    process."""
    with tempfile.TemporaryFile("w+") as output:
        began = time.perf_counter()
        process = subprocess.Popen(
            command,
            env=environment,
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
        )
        try:
            _, status, usage = os.wait4(process.pid, 0)
        except BaseException:  # interrupted: nothing of ours goes on behind the user's back
            process.kill()
            raise
        wall = time.perf_counter() - began
        process.returncode = os.waitstatus_to_exitcode(
            status
        )  # Popen must not wait for it a second time
        output.seek(0)
        said = output.read()
    peak = usage.ru_maxrss * KIB_PER_RSS_UNIT / 1024
    return Measured(wall, usage.ru_utime + usage.ru_stime, peak, process.returncode, said)
