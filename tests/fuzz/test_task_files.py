"""Any text as a file of tasks."""

from __future__ import annotations

from pathlib import Path

from playrunner.errors import BadInput
from playrunner.playbook.roles import import_role
from playrunner.playbook.steps import load_step_file
from playrunner.playbook.surroundings import Surroundings
from tests.support.fuzz.surface import as_bytes, fuzzed, scratch

FILES = sorted((Path(__file__).parents[2] / "roles").glob("*/tasks/*.yaml"))
SEEDS = [file.read_text() for file in FILES if file.stat().st_size < 6000][:25]


@fuzzed("task_files", SEEDS, (BadInput,))
def test_any_task_file_is_loaded_or_refused(text: str) -> None:
    file = scratch("tasks.yaml")
    file.write_bytes(as_bytes(text))
    try:
        load_step_file(file, Surroundings(file.parent, file.parent, import_role=import_role))
    except BadInput as refused:
        assert refused.place is not None and refused.place.file, f"names no file: {refused}"
        raise
