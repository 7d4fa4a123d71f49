"""What the pages of one server share: readers, settings, and how an answer is rendered."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from dataclasses import field
from pathlib import Path
from typing import Any

from starlette.requests import Request
from starlette.responses import HTMLResponse

from playrunner.frozen import mutable
from playrunner.options import Options
from playrunner.page.access import POLICY_WITH_CHARTS, Keys
from playrunner.page.live import Live
from playrunner.page.records.run_list import RunList, RunRow
from playrunner.page.records.run_steps import Steps, read_steps
from playrunner.page.records.training_runs import TrainingRuns
from playrunner.page.rendering import render

LOOK_SECONDS = 5.0
KEPT_RUNS = 4  # of which the steps stay in memory


@mutable
class Site:
    keys: Keys
    live: Live
    options: Options
    allow_actions: bool = False
    runs: RunList = field(default_factory=RunList)
    training: TrainingRuns = field(default_factory=TrainingRuns)
    lock: threading.Lock = field(default_factory=threading.Lock)
    _looked: tuple[float, bool] = (-1e9, False)
    _steps: OrderedDict[Path, tuple[int, Steps]] = field(default_factory=OrderedDict)

    def page(
        self, request: Request, template: str, code: int = 200, charts: bool = False, **values: Any
    ) -> HTMLResponse:
        """An HTML page."""
        session = request.scope.get("state", {}).get("session", "")
        return HTMLResponse(
            render(
                template,
                path=request.url.path,
                allow_actions=self.allow_actions,
                form_token=self.keys.form_token(session),
                report=False,
                **values,
            ),
            code,
            {"content-security-policy": POLICY_WITH_CHARTS} if charts else None,
        )

    def training_goes_on(self) -> bool:
        """Whether some run is not known to have ended; looked at again after some seconds."""
        now = time.monotonic()
        if now - self._looked[0] > LOOK_SECONDS:
            ended = ("finished", "failed", "stopped")
            self._looked = (now, any(run.state not in ended for run in self.training.all({})))
        return self._looked[1]

    def steps(self, row: RunRow) -> Steps:
        """A run's steps; read again when its record has grown."""
        folder = row.record.folder
        try:
            size = (folder / "events.jsonl").stat().st_size
        except OSError:
            size = -1
        with self.lock:
            known = self._steps.get(folder)
            if known and known[0] == size:
                self._steps.move_to_end(folder)
                return known[1]
        steps = read_steps(folder)
        with self.lock:
            self._steps[folder] = (size, steps)
            while len(self._steps) > KEPT_RUNS:
                self._steps.popitem(last=False)
        return steps


def site_of(request: Request) -> Site:
    site: Site = request.app.state.site
    return site
