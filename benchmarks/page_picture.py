"""`python -m benchmarks.page_picture FILE`: the picture of the page in the README, from a record
that is made for it."""

from __future__ import annotations

import json
import math
import os
import random
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from tests.support.page import PageServer, chromium, recorded_training

STEPS, LOGGED, RESTARTED = 20_000, 12_400, 8_000
RANKS, SLOW_RANK = 8, 5
WIDTH = 1700  # room for four small charts in a row


def main() -> int:
    target = Path(sys.argv[1]) if len(sys.argv) == 2 else None
    if target is None:
        print("usage: python -m benchmarks.page_picture FILE", file=sys.stderr)
        return 5
    with tempfile.TemporaryDirectory() as folder:
        state = Path(folder)
        write_example(state)
        with PageServer(state, "--interval=0") as server, chromium() as browser:
            page = server.opened(browser, width=WIDTH)
            page.goto(f"{server.base}/training/gpt2-small")
            page.wait_for_selector('[data-series="grad_norm"] .plot svg')
            page.wait_for_selector("#ranks .plot .heatmaplayer image")
            page.wait_for_timeout(1000)
            box = page.locator("#ranks").bounding_box()
            height = (box["y"] + box["height"] + 12) if box else 860
            page.set_viewport_size({"width": WIDTH, "height": round(height)})
            page.wait_for_timeout(1000)
            page.screenshot(path=str(target))
    print(target)
    return 0


def write_example(state: Path) -> None:
    chance, begun = random.Random(7), time.time() - LOGGED * 0.52
    folder = recorded_training(state, "gpt2-small", 1)
    job = json.loads((folder / "run.json").read_text())
    job |= {"profile": "gpt2-small", "launcher": "torchrun", "strategy": "ddp", "steps": STEPS}
    (folder / "run.json").write_text(json.dumps({**job, "created": begun, "hourly": 63.3}))
    (folder / "ended.json").unlink()
    lines: list[dict[str, Any]] = []
    for step in range(10, LOGGED + 1, 10):
        warm = min(1.0, step / 700)
        lines.append(
            {
                "step": step,
                "loss": 2.9 + 7.6 * math.exp(-step / 900) + chance.gauss(0, 0.05),
                "lr": 6e-4 * warm * 0.5 * (1 + math.cos(math.pi * step / STEPS)),
                "grad_norm": 0.4 + 2 * math.exp(-step / 300) + abs(chance.gauss(0, 0.06)),
                "tokens_per_second": 505_000 + chance.gauss(0, 3000),
                "memory_mib": 61_300.0 + (step > 4000) * 420,
                "step_seconds": 0.52,
                "time": begun + step * 0.52,
                **({"phase": "warm-up"} if step == 10 else {}),
                **({"phase": "decay"} if step == 700 else {}),
            }
        )
        if not step % 100:
            seconds = [round(0.4 + abs(chance.gauss(0, 0.01)), 3) for _ in range(RANKS)]
            seconds[SLOW_RANK] += 0.25 * (5000 < step < RESTARTED)
            lines.append({"step": step, "ranks": {"each": 1, "seconds": seconds}})
    (folder / "hosts" / "node1.log").write_text(
        f"[0] step {RESTARTED}/{STEPS}\n"
        "[node] 10:00:00 restart: 1 of 3 in 2 s after rank 5 ended with code 1\n"
    )
    text = "".join(json.dumps(line) + "\n" for line in lines)
    (folder / "metrics.jsonl").write_text(text)
    later = time.time() + 600  # a record that is written to belongs to a run that goes on
    os.utime(folder / "metrics.jsonl", (later, later))


if __name__ == "__main__":
    sys.exit(main())
