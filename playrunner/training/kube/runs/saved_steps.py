"""At which step the pods of a run last saved, by their own output: the claim that has the
checkpoints is not read from here."""

from __future__ import annotations

import re

from playrunner.training.runs.record import Record

# The trainer's own words, in its two styles
_SAVING = re.compile(
    r"saving step (\d+)$|saving checkpoint at epoch:\d+ and iteration: (\d+)$", re.M
)


def last_saved(record: Record, run_id: str) -> int | None:
    """The step of the newest checkpoint that was begun; None where none was."""
    steps = [
        int(match[1] or match[2])
        for path in (record.folder / "hosts").glob(f"{run_id}*.log")
        for match in _SAVING.finditer(path.read_text(errors="replace"))
    ]
    return max(steps, default=None)


def saved_text(record: Record, run_id: str) -> str:
    step = last_saved(record, run_id)
    return "it saved no checkpoint" if step is None else f"it last saved at step {step}"
