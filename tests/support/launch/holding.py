"""Runs that hold their nodes until a file is there: they import no torch, and begin at once."""

from __future__ import annotations

from pathlib import Path

from tests.support import runner
from tests.support.launch.site import Site
from tests.support.until import until

SCRIPT = """
import pathlib, sys, time
from playrunner import metrics
metrics.log(1, loss=1.0)
while not pathlib.Path(sys.argv[1]).exists():
    time.sleep(0.1)
metrics.log(2, loss=0.5)
"""


class Holding:
    def __init__(self, site: Site, folder: Path) -> None:
        self.site, self.folder = site, folder
        self.script = folder / "hold.py"
        self.script.write_text(SCRIPT)

    def words(self, name: str, *words: object, nodes: int = 2) -> list[object]:
        own = ("--script", self.script, "--name", name, "--nodes", nodes, "--launcher", "direct")
        return ["train.launch", *own, "--no-gate", *words, "--", self.folder / f"end-{name}"]

    def launch(self, name: str, *words: object, nodes: int = 2) -> runner.Outcome:
        return self.site.invoke(*self.words(name, *words, nodes=nodes))

    def end(self, name: str) -> None:
        (self.folder / f"end-{name}").touch()

    def await_running(self, name: str) -> None:
        def has_begun() -> bool:
            try:
                return 1 in self.site.losses(name)
            except OSError:
                return False

        until(has_begun, seconds=90, what=f"{name} runs")
