"""Verbs as processes of their own: what they answer with --json is what a page shows."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

from playrunner.frozen import frozen
from playrunner.options import Options
from playrunner.text.documents import json_object

LIMIT_SECONDS = 300.0


@frozen
class Answer:
    """What a verb answered."""

    command: str
    code: int
    data: dict[str, Any]
    error: str = ""


def run_verb(
    words: tuple[str, ...], options: Options, seconds: float = LIMIT_SECONDS, yes: bool = False
) -> Answer:
    """A verb with the page's inventory; text of it that is no JSON is its error."""
    given = [f"--inventory={source}" for source in options.inventory]
    given += [f"--kubeconfig={options.kubeconfig}"] if options.kubeconfig else []
    given += ["--yes"] if yes else []
    command = f"playrunner {' '.join(words)}"
    try:
        done = subprocess.run(
            [sys.executable, "-m", "playrunner", *words, *given, "--json"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=seconds,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return Answer(command, 1, {}, f"no answer within {seconds:g} seconds")
    data = json_object(done.stdout.strip()) or {}
    error = str(data.get("error") or "")
    if not data or (done.returncode and not error):
        error = error or done.stderr.strip()[-4000:]
    return Answer(command, done.returncode, data, error)
