"""Record what ansible-core makes of the cases: `python -m tests.differential.record [NAME...]` (all
stale ones by default)."""

from __future__ import annotations

import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from .case import Case, all_cases, read_case
from .harness import Outcome, Stage, open_stage, run_with_ansible
from .recording import Stale, read_recording, write_recording

PARALLEL_CASES = 2


def main(names: list[str]) -> int:
    cases = [read_case(name) for name in names] or [case for case in all_cases() if _is_stale(case)]
    with (
        tempfile.TemporaryDirectory(prefix="pd") as folder,
        open_stage(Path(folder)) as stage,
        ThreadPoolExecutor(PARALLEL_CASES) as pool,
    ):
        complaints = [text for text in pool.map(lambda case: _record(case, stage), cases) if text]
    print(f"{len(cases) - len(complaints)} recorded, {len(complaints)} not")
    return 1 if complaints else 0


def _record(case: Case, stage: Stage) -> str:
    outcomes = run_with_ansible(case, stage)
    complaint = _complaint(case, outcomes)
    if not complaint:
        write_recording(case, outcomes)
    print(f"{case.name}: {complaint or 'recorded'}", flush=True)
    return complaint


def _complaint(case: Case, outcomes: dict[str, Outcome]) -> str:
    """A case that does not do what its author meant must not become the standard."""
    first = outcomes["first"]
    if not first.recap:
        return f"ansible-playbook gave no recap:\n{first.output}"
    if first.succeeded != (case.expect_exit == 0):
        return f"ansible-playbook was expected to exit with {case.expect_exit}:\n{first.output}"
    return ""


def _is_stale(case: Case) -> bool:
    try:
        read_recording(case)
    except Stale:
        return True
    return False


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
