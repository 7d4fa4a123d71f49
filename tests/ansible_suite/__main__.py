"""`make test-ansible`: the scoreboard; TARGETS="copy file" takes some of the targets."""

from __future__ import annotations

import argparse
import json
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from playrunner.text.file_lock import file_lock

from . import isolation, sources, table
from .score import run_target
from .targets import Target, all_targets

RESULTS = "results.json"


def main() -> int:
    parser = argparse.ArgumentParser(prog="make test-ansible", description=__doc__)
    parser.add_argument("targets", nargs="*", help="names of targets; all by default")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=300, help="time limit of a target")
    parser.add_argument("--again", action="store_true", help="run ansible-core again, too")
    parser.add_argument("--only-ansible", action="store_true")
    parser.add_argument("--only-ours", action="store_true", help="take for granted that it passes")
    parser.add_argument("--only-table", action="store_true", help="write the table of the results")
    parser.add_argument("--kind", choices=("role", "script"))
    options = parser.parse_args()
    sources.prepare()
    board = Board(sources.cache() / RESULTS)
    if not options.only_table:
        if not isolation.possible():
            sys.stderr.write(
                "error: needs root, unshare and overlayfs: targets change the machine\n"
            )
            return 5
        named = set(options.targets)
        chosen = [
            target
            for target in all_targets()
            if (not named or target.name in named)
            and (not options.kind or target.kind == options.kind)
            and (not target.left_out() or target.name in named)
        ]
        order = {name: number for number, name in enumerate(options.targets)}
        chosen.sort(key=lambda target: order.get(target.name, 0))
        with ThreadPoolExecutor(options.jobs) as pool:
            list(pool.map(lambda target: board.run(target, options), chosen))
    if not options.targets:
        table.write(board.results)
    for line in table.summary(board.results):
        print(line)
    return 0


class Board:
    """The results of all targets, kept in one file."""

    def __init__(self, file: Path) -> None:
        self.file = file
        self.results = _read(file)
        self._lock = threading.Lock()

    def run(self, target: Target, options: argparse.Namespace) -> None:
        known = self.results.get(target.name, {})
        entry = {"kind": target.kind, **{key: known[key] for key in ("ansible",) if key in known}}
        if options.only_ours:
            expected = entry.get(
                "ansible", {"status": "pass", "calls": [], "seconds": 0, "reason": ""}
            )
        else:
            if "ansible" not in entry or options.again:
                entry["ansible"] = run_target(target, False, [], options.seconds)
            expected = entry["ansible"]
        if expected["status"] == "pass" and not options.only_ansible:
            entry["playrunner"] = run_target(target, True, expected["calls"], options.seconds)
        with self._lock, file_lock(self.file.with_name(f"{self.file.name}.lock")):
            # Another process may have added results since.
            self.results = {**self.results, **_read(self.file)}
            known = self.results.get(target.name, {})
            self.results[target.name] = {**known, **entry}
            self.file.write_text(json.dumps(self.results, indent=1))
            own = entry.get("playrunner", {})
            calls = own.get("calls") or []
            passed = sum(call.get("status") == "pass" for call in calls)
            of_calls = (
                f" ({passed} of {len(expected['calls'])} calls)" if target.kind == "script" else ""
            )
            print(
                f"{target.name}: ansible-core {expected['status']} {expected['seconds']}s,"
                f" playrunner {own.get('status', '-')} {own.get('seconds', '')}{of_calls}"
                f" {own.get('reason') or expected['reason']}",
                flush=True,
            )


def _read(file: Path) -> dict[str, dict[str, Any]]:
    return dict(json.loads(file.read_text())) if file.exists() else {}


if __name__ == "__main__":
    raise SystemExit(main())
