"""A program of the trainer that works on a run's checkpoints, and the result it prints."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import trainer
from playrunner.errors import StepFailed
from playrunner.frozen import frozen
from playrunner.text.documents import json_object

RESULT = "result "


@frozen
class Program:
    module: str
    title: str
    words: tuple[str, ...] = ()  # after the run's output folder


def run_here(program: Program, source: str) -> dict[str, Any]:
    """On a folder of this machine: a run's output folder, or one checkpoint."""
    command = [sys.executable, "-m", program.module, source, *program.words]
    code = str(Path(trainer.__file__).resolve().parent.parent)
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": code},
    )
    return result_of(program, done.stdout, done.stderr, done.returncode)


def result_of(program: Program, output: str, errors: str, code: int) -> dict[str, Any]:
    """The program's result, or its last line of standard error as a failure."""
    lines = [line for line in output.splitlines() if line.startswith(RESULT)]
    result = json_object(lines[-1].removeprefix(RESULT)) if lines else None
    if code or result is None:
        raise StepFailed(f"{program.title}: {last_line(errors) or f'exit code {code}'}")
    return result


def last_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else ""
