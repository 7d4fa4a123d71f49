"""`python -m benchmarks.page_picture FILE`: the picture of the page in the README, from a record
that is made for it."""

from __future__ import annotations

import json
import math
import random
import sys
import tempfile
import time
from pathlib import Path

from tests.support.page import PageServer, chromium, recorded_training

STEPS, LOGGED = 20_000, 12_400


def main() -> int:
    target = Path(sys.argv[1]) if len(sys.argv) == 2 else None
    if target is None:
        print("usage: python -m benchmarks.page_picture FILE", file=sys.stderr)
        return 5
    with tempfile.TemporaryDirectory() as folder:
        state = Path(folder)
        write_example(state)
        with PageServer(state, "--interval=0") as server, chromium() as browser:
            page = server.opened(browser, width=1200)
            page.goto(f"{server.base}/training/gpt2-small")
            page.wait_for_selector('[data-series="grad_norm"] .plot svg')
            page.wait_for_timeout(1000)
            page.screenshot(path=str(target), clip={"x": 0, "y": 0, "width": 1200, "height": 860})
    print(target)
    return 0


def write_example(state: Path) -> None:
    chance, begun = random.Random(7), time.time() - LOGGED * 0.52
    folder = recorded_training(state, "gpt2-small", 1)
    job = json.loads((folder / "run.json").read_text())
    job |= {"profile": "gpt2-small", "launcher": "torchrun", "strategy": "ddp", "steps": STEPS}
    (folder / "run.json").write_text(json.dumps({**job, "created": begun, "hourly": 63.3}))
    (folder / "ended.json").unlink()
    lines = []
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
            }
        )
    text = "".join(json.dumps(line) + "\n" for line in lines)
    (folder / "metrics.jsonl").write_text(text)


if __name__ == "__main__":
    sys.exit(main())
