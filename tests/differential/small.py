"""Many small playbooks that share one run: `small/NAME.yaml` leaves `NAME.txt` on its hosts.

`python -m tests.differential.small` records what ansible-core makes of them.
"""

from __future__ import annotations

import json
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from . import ansible
from .case import EXPECTED, FOLDER, Case
from .harness import Outcome, open_stage, run_with_ansible

SMALL = FOLDER / "small"
RECORDING = EXPECTED.with_name("expected-small.json")
NAMES = sorted(path.stem for path in SMALL.glob("*.yaml") if path.stem != "play")


@dataclass(frozen=True)
class SmallCases(Case):
    """All of them as one case."""

    @property
    def folder(self) -> Path:
        return SMALL


CASE = SmallCases(name="small", needs=("sudo",), runs=("first",))


def left_by(name: str, outcome: Outcome) -> dict[str, str]:
    """What a playbook wrote, by path."""
    return {
        path: entry[2] for path, entry in outcome.tree.items() if Path(path).name == f"{name}.txt"
    }


def main() -> int:
    with tempfile.TemporaryDirectory(prefix="pd") as folder, open_stage(Path(folder)) as stage:
        first = run_with_ansible(CASE, stage)["first"]
    missing = [name for name in NAMES if not left_by(name, first)]
    if not first.succeeded or missing:
        print(f"{first.output}\nnot recorded; without a file: {missing}")
        return 1
    files = {name: left_by(name, first) for name in NAMES}
    recorded = {
        "ansible_core": ansible.core_version(),
        "digest": CASE.digest(),
        "recap": first.recap,
        "files": files,
    }
    RECORDING.write_text(json.dumps(recorded, indent=1, sort_keys=True) + "\n")
    print(f"{len(files)} recorded")
    return 0


if __name__ == "__main__":
    sys.exit(main())
