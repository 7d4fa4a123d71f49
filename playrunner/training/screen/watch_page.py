"""The live page of train.watch: a table of all runs, and the loss of the newest that runs."""

from __future__ import annotations

import select
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import field
from typing import Any

from playrunner.frozen import frozen
from playrunner.options import Options
from playrunner.output.json_output import print_json
from playrunner.project import program
from playrunner.text.streams import visible, without_escaping
from playrunner.training.runs.remaining import seconds_left
from playrunner.training.runs.run import Run
from playrunner.training.screen.runs_table import as_json, table
from playrunner.training.screen.screen import described, loss_chart

METRICS = 400  # lines for the curve: two for each column of a wide terminal
KEY_SECONDS = 0.1
AROUND = 18  # lines of a page beside the table's rows: its heading, the curve, the clock


@frozen
class Snapshot:
    """All runs at one moment."""

    runs: list[Run] = field(default_factory=list)
    silent: dict[str, str] = field(default_factory=dict)
    time: float = 0.0


def show(see: Callable[[], Snapshot], options: Options, interval: float) -> int:
    """The live page; printed once where there is no terminal."""
    if options.json or not sys.stdout.isatty():
        seen = see()
        if options.json:
            print_json({"runs": [as_json(run) for run in seen.runs], "silent": seen.silent})
        else:
            print(page(seen, 80))
        return 0
    return _live(Looker(see, interval))


class Looker:
    """Looks at the nodes again and again in a thread of its own: a node that is slow to answer does
    not freeze the page."""

    def __init__(self, see: Callable[[], Snapshot], interval: float) -> None:
        self.seen: Snapshot | None = None
        self.over = threading.Event()
        self._see, self._interval = see, interval
        self.thread = threading.Thread(target=self._look_on, daemon=True)
        self.thread.start()

    def _look_on(self) -> None:
        while not self.over.is_set():
            seen = self._see()
            if not self.over.is_set():
                self.seen = seen
            self.over.wait(self._interval)


def page(seen: Snapshot, width: int, height: int = 0) -> str:
    """The table of runs, then the newest one that goes on as a curve; the newest of all when none
    does.

    Where the page has a height, those that go on are shown first, and what does not fit is counted.
    """
    if not seen.runs and not seen.silent:
        return f"no runs; start one with: {program()} train.launch --profile gpt2-micro-smoke"
    room = max(3, height - AROUND - len(seen.silent)) if height else len(seen.runs)
    runs = (
        seen.runs
        if len(seen.runs) <= room
        else sorted(seen.runs, key=lambda run: run.state != "running")[:room]
    )
    parts = [table(runs, seen.time, width)] if runs else []
    if len(runs) < len(seen.runs):
        parts.append(f"and {len(seen.runs) - len(runs)} more: {program()} train.status")
    shown = next((run for run in seen.runs if run.state == "running" and run.metrics), None)
    shown = shown or next((run for run in seen.runs if run.metrics), None)
    if shown:
        left = seconds_left(shown, seen.time)
        steps = shown.steps_in_all or shown.steps
        parts.append(f"\n{shown.name}  {described(shown.metrics[-1], steps, left)}")
        parts.append(loss_chart(shown.metrics, width=max(20, min(100, width - 14))))
    parts += [f"{host} does not answer: {why}" for host, why in seen.silent.items()]
    return "\n".join(part for part in parts if part)


def _live(looker: Looker) -> int:
    from rich.console import Console
    from rich.live import Live
    from rich.text import Text

    console = Console(file=without_escaping(sys.stdout))
    shown: Snapshot | None = None
    try:
        with (
            _keys() as pressed,
            Live(
                Text("looking at the nodes"), console=console, screen=True, auto_refresh=False
            ) as live,
        ):
            while pressed() != "q":
                if looker.seen and looker.seen is not shown:
                    shown = looker.seen
                    clock = time.strftime("%H:%M:%S", time.localtime(shown.time))
                    drawn = visible(page(shown, console.width, console.height))
                    live.update(Text(f"{drawn}\n\n{clock}  q ends", no_wrap=True), refresh=True)
    except KeyboardInterrupt:
        pass
    finally:
        looker.over.set()
    if shown:
        print(page(shown, console.width))  # what was on the page stays readable
    return 0


@contextmanager
def _keys() -> Iterator[Any]:
    """A way to learn which key was pressed, if any, within a moment; the terminal is as before
    afterwards."""
    if not sys.stdin.isatty():
        yield lambda: time.sleep(KEY_SECONDS)
        return
    import termios
    import tty

    terminal = sys.stdin.fileno()
    before = termios.tcgetattr(terminal)

    def pressed() -> str:
        ready, _, _ = select.select([terminal], [], [], KEY_SECONDS)
        return sys.stdin.read(1) if ready else ""

    try:
        tty.setcbreak(terminal)
        yield pressed
    finally:
        termios.tcsetattr(terminal, termios.TCSADRAIN, before)
