"""Output that is closed, full or no longer read."""

from __future__ import annotations

import json
import sys

import pytest

from tests.support.runner import REPOSITORY
from tests.support.security.broken import (
    INVOKE,
    Here,
    here,  # noqa: F401
    is_one_line,
)

# Standard streams.


@pytest.mark.parametrize("words", ["--list", "--help play", "runs.list"])
def test_a_closed_output_is_refused_at_once(here: Here, words: str) -> None:
    ended = here.shell(f"{INVOKE} {words} >&-")
    assert ended.code == 5 and is_one_line(ended.err) and "output is closed" in ended.err, (
        ended.text
    )


def test_a_closed_output_keeps_a_playbook_from_starting(here: Here) -> None:
    ended = here.shell(f"{here.play} >&-")
    assert (
        ended.code == 5
        and is_one_line(ended.err)
        and not here.done.exists()
        and not here.state.exists()
    )


@pytest.mark.parametrize("closed", ["2>&-", "<&-", "<&- 2>&-"])
def test_a_run_needs_neither_input_nor_a_place_for_errors(here: Here, closed: str) -> None:
    ended = here.shell(f"{here.play} {closed}")
    assert ended.code == 0 and "RECAP" in ended.out and here.done.exists(), ended.text


@pytest.mark.parametrize(
    "words", ["--list", "--help play", "play --help", "modules.list", "no-such-verb --json"]
)
def test_output_that_cannot_be_written_is_no_success(here: Here, words: str) -> None:
    ended = here.shell(f"{INVOKE} {words} >/dev/full")
    assert ended.code == (5 if words.startswith("no-such") else 8), ended.text
    assert "error: standard output could not be written: No space left on device" in ended.err
    assert "Traceback" not in ended.err and "Exception" not in ended.err


@pytest.mark.parametrize("words", ["", "--json"])
def test_a_run_whose_output_is_lost_goes_on_to_its_end_and_is_recorded(
    here: Here, words: str
) -> None:
    ended = here.shell(f"{here.play} {words} >/dev/full")
    assert ended.code == 8 and is_one_line(ended.err) and here.done.exists(), ended.text
    assert json.loads((here.state / "runs/latest/recap.json").read_text())["recap"]["h0"]["ok"] == 2


@pytest.mark.parametrize(
    "words",
    [
        "--list",
        "--help play",
        "play --help",
        "modules.list",
        "modules.list --json",
        "inventory.show --json",
        "no-such-verb --json",
    ],
)
def test_a_reader_that_has_seen_enough_is_no_error(here: Here, words: str) -> None:
    ended = here.shell(f"{INVOKE} {words} | true; exit ${{PIPESTATUS[0]}}", PYTHONUNBUFFERED="1")
    assert ended.code == (5 if words.startswith("no-such") else 0), ended.text
    assert "Traceback" not in ended.err and "BrokenPipe" not in ended.err


def test_a_reader_that_leaves_while_output_is_held_back_is_no_error(here: Here) -> None:
    ended = here.shell(f"{INVOKE} --list | true; exit ${{PIPESTATUS[0]}}", PYTHONUNBUFFERED="")
    assert ended.code == 0 and ended.err == "", ended.text


def test_a_run_goes_on_when_its_reader_leaves(here: Here) -> None:
    ended = here.shell(f"{here.play} | head -n 1; exit ${{PIPESTATUS[0]}}")
    assert (
        ended.code == 0 and ended.out.startswith("PLAY") and ended.err == "" and here.done.exists()
    )


def test_output_without_an_end_stops_when_its_reader_leaves(here: Here) -> None:
    (here.folder / "logs.py").write_text("""
from playrunner.text.streams import OutputLost, guard_streams
from playrunner.training.ssh.logs import LogPrinter
guard_streams()
try:
    while True:
        LogPrinter("", named=True).log("node1", "a line \\x1b[2J of a log")
except OutputLost:
    raise SystemExit(3)
""")
    ended = here.shell(
        f"{sys.executable} {here.folder}/logs.py | head -n 1; exit ${{PIPESTATUS[0]}}",
        PYTHONPATH=str(REPOSITORY),
    )
    assert (
        ended.code == 3 and ended.out == "node1 a line \\x1b[2J of a log\n" and ended.err == ""
    ), ended.text
