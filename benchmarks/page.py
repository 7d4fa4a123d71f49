"""`python -m benchmarks.page`: the page in Chromium with 1,000 runs, with a run of 10,000 results,
and with a training run of 100,000 points; and how much memory the server holds.

Times are first paints as the browser measures them from the start of the navigation: of the first
visit, when the server has read nothing yet, and the best of some, since other work on the machine
only adds to them. Goals are for the best.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from pathlib import Path

from playwright.sync_api import Page

from tests.support.page import PageServer, chromium, recorded_training, resident_mib
from tests.support.until import until

RUNS, RESULTS, POINTS, ROUNDS = 1000, 10_000, 100_000, 5
GOALS = {"1,000 runs": 1.0, "10,000 results": 2.0, "100,000 points": 2.0}
GOAL_MIB = 200.0
_PAINT = """() => {
  const [paint] = performance.getEntriesByName("first-contentful-paint");
  return paint ? paint.startTime / 1000 : 0;
}"""


def main() -> int:
    with tempfile.TemporaryDirectory() as folder:
        state = Path(folder)
        large = write_runs(state)
        recorded_training(state, "long", POINTS, POINTS)
        with PageServer(state, "--interval=0") as server, chromium() as browser:
            page = server.opened(browser)
            paths = ("/runs", f"/runs/{large}", "/training/long")
            painted = {
                name: paints(page, server.base + path)
                for name, path in zip(GOALS, paths, strict=True)
            }
            memory = resident_mib(server.process.pid)
    for name, seconds in painted.items():
        times = f"{min(seconds):.2f} s, at the first visit {seconds[0]:.2f} s"
        print(f"first paint, {name}: {times} (goal: {GOALS[name]:g} s)")
    print(f"memory of the server: {memory:.0f} MiB (goal: {GOAL_MIB:g} MiB)")
    missed = memory > GOAL_MIB or any(min(painted[name]) > goal for name, goal in GOALS.items())
    return 1 if missed else 0


def paints(page: Page, address: str) -> list[float]:
    seconds = []
    for _ in range(ROUNDS):
        page.goto(address)
        painted = until(lambda: float(page.evaluate(_PAINT)), what="the first paint")
        seconds.append(painted)
    return seconds


def write_runs(state: Path) -> str:
    """Records as the ledger writes them; the name of the large one."""
    begun = time.time() - 100_000
    for number in range(RUNS):
        results = RESULTS if number == RUNS - 1 else 4
        write_run(state / "runs" / f"20260101-{number:06d}-abcdef", begun + number, results)
    return f"20260101-{RUNS - 1:06d}-abcdef"


def write_run(folder: Path, at: float, results: int) -> None:
    (folder / "hosts").mkdir(parents=True)
    hosts = max(1, results // 100)
    events: list[dict[str, object]] = [
        {"at": at, "event": "run", "command": "play site.yaml", "pid": 1}
    ]
    for number in range(results):
        step = {
            "host": f"node{number % hosts}",
            "step": f"step {number // hosts}",
            "module": "host.command",
            "place": f"site.yaml:{number // hosts}",
        }
        moment = at + number * 0.01
        status = "failed" if number % 997 == 996 else "changed" if number % 3 else "ok"
        events.append({"at": moment, "event": "intent", **step})
        events.append(
            {"at": moment + 1, "event": "outcome", **step, "status": status, "seconds": 0.5}
        )
        with (folder / "hosts" / f"{step['host']}.log").open("a") as log:
            log.write(f"[10:00:00] {status}: {step['step']}\n    some output\n")
    (folder / "events.jsonl").write_text("".join(json.dumps(event) + "\n" for event in events))
    recap = {f"node{number}": {"ok": 3, "changed": 1, "failed": 0} for number in range(hosts)}
    (folder / "recap.json").write_text(
        json.dumps({"run_id": folder.name, "exit_code": 0, "seconds": 12.5, "recap": recap})
    )


if __name__ == "__main__":
    sys.exit(main())
