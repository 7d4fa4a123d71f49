"""A step of a host module in processes of its own, which stalls in the middle for as long as a test
wants."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

from playrunner.project import CODE
from tests.support.until import until

STEP = """
import importlib, json, os, sys
sys.path.insert(0, {code!r})
from playrunner.hostside.perform import perform
from tests.support.host.performing import context

module, name, arguments, placed = json.loads(sys.argv[1])
ctx = context()
ctx.wire.placed.update(placed)
module = importlib.import_module("playrunner.modules.host." + module)
print(json.dumps(perform(getattr(module, name)(**arguments), ctx), default=str))
"""
# In place of a program: it says that it is at work, and waits until it may go on
WAITS = """#!/bin/sh
real={real}
for word in "$@"; do
  if [ "$word" = {word} ] && [ -e {stalls} ]; then
    {before}
    : > {at_work}
    read line < {may_go_on}
  fi
done
{then}
"""


class Stage:
    """A step in processes of its own, which stalls in the middle as long as it is to."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.drafts_in = folder / "drafts"
        self.stalls, self.at_work = folder / "stalls", folder / "at-work"
        self.may_go_on = folder / "may-go-on"
        self.drafts_in.mkdir()
        os.mkfifo(self.may_go_on)
        self.results: set[str] = set()  # what belongs in the folder of the drafts
        self.step: tuple[str, str, dict[str, Any], dict[str, str]]
        self.environment: dict[str, str] = {}
        self.processes: list[subprocess.Popen[str]] = []

    def run(self) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [sys.executable, "-c", STEP.format(code=str(CODE)), json.dumps(self.step)],
            env={**os.environ, **self.environment},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.processes.append(process)
        return process

    def run_until_it_stalls(self) -> subprocess.Popen[str]:
        self.stalls.touch()
        process = self.run()
        until(lambda: self.at_work.exists() and self.drafts(), what="a draft", process=process)
        self.stalls.unlink()
        return process

    def ends_well(self, process: subprocess.Popen[str]) -> None:
        out, err = process.communicate(timeout=60)
        assert process.returncode == 0, out + err

    def drafts(self) -> set[str]:
        return {path.name for path in self.drafts_in.iterdir()} - self.results

    def wait_here(self) -> None:
        """What a server does in the middle of its answer."""
        if self.stalls.exists():
            self.at_work.touch()
            self.may_go_on.read_text()

    def go_on(self) -> None:
        with suppress(OSError):  # nothing waits any more
            os.close(os.open(self.may_go_on, os.O_WRONLY | os.O_NONBLOCK))

    def program(self, name: str, word: str, before: str = "", then: str = "") -> Path:
        """A program that stalls where one of its words is this."""
        place = self.folder / "bin" / name
        place.parent.mkdir()
        real = shutil.which(name)
        text = WAITS.format(
            real=real,
            word=word,
            stalls=self.stalls,
            before=before,
            at_work=self.at_work,
            may_go_on=self.may_go_on,
            then=then or 'exec "$real" "$@"',
        )
        place.write_text(text)
        place.chmod(0o755)
        self.environment["PATH"] = f"{place.parent}:{os.environ['PATH']}"
        return place
