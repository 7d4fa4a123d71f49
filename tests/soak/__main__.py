"""`python -m tests.soak`: turns until SOAK_MINUTES are over; SOAK_SEED repeats an order of turns.

The exit code is 1 as soon as something that must hold does not; the folder is then kept."""

from __future__ import annotations

import os
import random
import shutil
import sys
import tempfile
import time
from pathlib import Path

from tests.soak.faults import disk_of_records
from tests.soak.turns import TURNS
from tests.soak.world import Violation, World

MINUTES = 240.0


def main() -> int:
    seed = int(os.environ.get("SOAK_SEED") or random.SystemRandom().randrange(1 << 31))
    minutes = float(os.environ.get("SOAK_MINUTES") or MINUTES)
    chosen = os.environ.get("SOAK_TURNS", "").split()
    turns = {turn: share for turn, share in TURNS.items() if not chosen or turn.__name__ in chosen}
    print(f"soak of {minutes:g} minutes; repeat its order with SOAK_SEED={seed}", flush=True)
    world = World(Path(tempfile.mkdtemp(prefix="soak-")), random.Random(seed))
    began, violation, happened = time.monotonic(), "", "the start"
    counts: dict[str, int] = {}
    with disk_of_records(world):
        try:
            world.run("sandbox.up", "--nodes", "2")
            while time.monotonic() - began < 60 * minutes:
                turn = world.rng.choices(list(turns), list(turns.values()))[0]
                happened = turn.__name__
                happened = turn(world)
                world.check()
                counts[turn.__name__] = counts.get(turn.__name__, 0) + 1
                at = time.monotonic() - began
                print(f"{at:7.0f} s  turn {world.turns}: {happened}", flush=True)
        except Violation as problem:
            violation = f"{problem} (after: {happened})"
            shutil.copytree(world.records, world.folder / "records", dirs_exist_ok=True)
        finally:
            try:
                world.run("sandbox.down", "--yes")
            except Violation as problem:
                violation = violation or f"sandbox.down: {problem}"
    if violation:
        print(f"VIOLATION in turn {world.turns + 1}, seed {seed}, {world.folder}: {violation}")
        return 1
    shutil.rmtree(world.folder, ignore_errors=True)
    done = ", ".join(f"{count} of {name}" for name, count in counts.items())
    print(f"0 violations in {world.turns} turns ({done}), seed {seed}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
