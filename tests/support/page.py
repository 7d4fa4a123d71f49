"""The page as a user has it: the program in a process of its own, looked at with Chromium."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any
from urllib.parse import urlsplit

from playwright.sync_api import Browser, Page, sync_playwright

from tests.support.runner import REPOSITORY, start

CHROMIUM = "/usr/bin/chromium"
PAPER_WIDTH = 718  # A4 with usual margins
PATIENCE_MS = 60_000.0  # a busy two-core machine


@contextmanager
def chromium() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=CHROMIUM,
            args=["--no-sandbox"],  # root has none
        )
        try:
            yield browser
        finally:
            browser.close()


class PageServer:
    """`invoke page` with a state folder."""

    def __init__(self, state: Path, *words: object) -> None:
        self.state = state
        self.process = start("page", "--json", *words, state=state)
        self.link = ""

    def __enter__(self) -> PageServer:
        assert self.process.stdout is not None
        text = ""
        while line := self.process.stdout.readline():
            text += line
            try:
                self.link = json.loads(text)["url"]
                break
            except ValueError:
                continue
        if not self.link:
            raise AssertionError(f"no link: {text} {self.process.communicate()[1]}")
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        self.process.send_signal(signal.SIGINT)
        try:
            self.process.wait(30)
        except subprocess.TimeoutExpired:
            self.process.kill()

    @property
    def base(self) -> str:
        parts = urlsplit(self.link)
        return f"{parts.scheme}://{parts.netloc}"

    def opened(self, browser: Browser, width: int = 1280, **settings: Any) -> Page:
        """A browser that has used the link."""
        context = browser.new_context(viewport={"width": width, "height": 900}, **settings)
        page = context.new_page()
        page.set_default_timeout(PATIENCE_MS)
        page.goto(self.link)
        page.wait_for_url(f"{self.base}/runs")
        return page


def resident_mib(pid: int) -> float:
    """What a process and its children hold in memory."""
    total = 0
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            status = (folder / "status").read_text()
            fields = dict(line.split(":", 1) for line in status.splitlines() if ":" in line)
            if int(folder.name) == pid or int(fields["PPid"]) == pid:
                total += int(fields.get("VmRSS", "0 kB").split()[0])
        except (OSError, KeyError, ValueError):
            continue
    return total / 1024


def recorded_training(state: Path, name: str, points: int, steps: int = 1000) -> Path:
    """The record of a training run, as a launch writes it."""
    folder = state / "training" / "runs" / name
    (folder / "hosts").mkdir(parents=True)
    nodes = [{"host": f"node{number}", "slots": 1, "root": "/x"} for number in (1, 2)]
    job = {"name": name, "profile": "gpt2-micro-smoke", "launcher": "torchrun", "steps": steps}
    (folder / "run.json").write_text(
        json.dumps({**job, "nodes": nodes, "created": 1_790_000_000.0, "hourly": 12.0})
    )
    lines = (
        json.dumps(
            {
                "step": step,
                "loss": 2 + 4 / step,
                "lr": 1e-3,
                "tokens_per_second": 1000.0,
                "memory_mib": 500.0,
                "grad_norm": 1 + 1 / step,
                "time": 1_790_000_000.0 + step,
                **({"phase": "warm-up"} if step == 1 else {}),
                **({"phase": "decay"} if step == points // 4 else {}),
            }
        )
        for step in range(1, points + 1)
    )
    compared = (
        json.dumps({"step": step, "ranks": {"each": 1, "seconds": [0.1, 0.1, 0.35, 0.1]}})
        for step in range(10, points + 1, max(10, points // 1000))
    )
    (folder / "metrics.jsonl").write_text("\n".join([*lines, *compared]) + "\n")
    (folder / "ended.json").write_text(json.dumps({"state": "finished", "time": 1_790_003_600.0}))
    (folder / "hosts" / "node1.log").write_text(
        "[0] step 1/1000 loss 6\n[0] saving step 100\n[0] step 120/1000 loss 2\n"
        "[node] 10:00:00 restart: 1 of 3 in 2 s after rank 1 ended with code 9\n"
        "[0] checkpoint: resuming from step-00000100 in /x/checkpoints\n"
    )
    (folder / "hosts" / "node2.log").write_text("[1] hello from rank one\n")
    return folder


def play(state: Path, file: Path, *words: str) -> int:
    """`invoke play` of a playbook on this machine."""
    return subprocess.run(
        [sys.executable, "-m", "invoke", "play", str(file), *words],
        cwd=REPOSITORY,
        env={**os.environ, "PLAYRUNNER_STATE_HOME": str(state), "NO_COLOR": "1"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
    ).returncode


def no_overflow(page: Page) -> bool:
    return bool(page.evaluate("document.documentElement.scrollWidth <= window.innerWidth"))


def printed(page: Page) -> None:
    """The page as a browser prints it, for a reader whose screen is dark."""
    page.emulate_media(media="print", color_scheme="dark")
