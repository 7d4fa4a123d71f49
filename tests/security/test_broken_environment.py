"""A machine that gives out: no disk, no home, no output, too few files. One line, the right exit
code, nothing half-written."""

from __future__ import annotations

import json
import subprocess

import pytest

from tests.support.runner import REPOSITORY
from tests.support.security.broken import (
    INVOKE,
    PLAYBOOK,
    Here,
    here,  # noqa: F401
    is_one_line,
)


def can_mount() -> bool:
    words = ["unshare", "-m", "mount", "-t", "tmpfs", "none", "/mnt"]
    return subprocess.run(words, capture_output=True, check=False).returncode == 0


disks = pytest.mark.skipif(not can_mount(), reason="a disk can be mounted by root only")


# Folders.


def test_a_working_folder_that_is_gone_is_said_in_one_line(here: Here) -> None:
    (here.folder / "gone").mkdir()
    ended = here.shell(
        f"cd {here.folder}/gone && rmdir ../gone && {INVOKE} --search-root {REPOSITORY} play x.yaml"
    )
    assert ended.code == 5 and is_one_line(ended.err) and "working folder" in ended.err, ended.text


@pytest.mark.parametrize(
    "where",
    [
        {"PLAYRUNNER_STATE_HOME": "/proc/none"},
        {"PLAYRUNNER_STATE_HOME": "/dev/null/x"},
        {"XDG_STATE_HOME": "/proc/none", "PLAYRUNNER_STATE_HOME": ""},
        {"HOME": "/proc/none", "PLAYRUNNER_STATE_HOME": "", "XDG_STATE_HOME": ""},
    ],
    ids=["ours", "below a file", "xdg", "home"],
)
@pytest.mark.parametrize("words", ["", "--json"])
def test_a_state_folder_that_cannot_be_made_is_refused_before_a_host_is_touched(
    here: Here, where: dict[str, str], words: str
) -> None:
    ended = here.shell(f"{here.play} {words}", **where)
    assert ended.code == 5 and is_one_line(ended.err) and "PLAYRUNNER_STATE_HOME" in ended.err, (
        ended.text
    )
    assert not here.done.exists()
    assert ended.data["exit_code"] == 5 if words else ended.out == ""


@pytest.mark.parametrize(
    "words", ["runs.list", "train.status", "nodes.list", "nodes.quarantine --node h0 --reason x"]
)
def test_every_verb_says_so_when_the_state_folder_cannot_be_made(here: Here, words: str) -> None:
    where = "" if words.startswith("runs") else f"--inventory {here.folder}/hosts.ini"
    ended = here.shell(f"{INVOKE} {words} {where}", PLAYRUNNER_STATE_HOME="/proc/none")
    assert ended.code in (0, 5) and "Traceback" not in ended.text
    assert ended.code == 0 or is_one_line(ended.err), ended.text


def test_a_user_without_a_name_or_a_home_can_run_a_playbook(here: Here) -> None:
    names = "env -u HOME -u USER -u LOGNAME -u LNAME -u USERNAME"
    ended = here.shell(f"{names} {here.play}")
    assert ended.code == 0, ended.text


@disks
@pytest.mark.parametrize(
    "options", ["ro", *(f"size=64k,nr_inodes={number}" for number in (2, 4, 6, 8))]
)
def test_a_disk_that_is_read_only_or_full_is_refused_before_a_host_is_touched(
    here: Here, options: str
) -> None:
    left = f"ls {here.folder}/disk/state/runs 2>/dev/null"
    ended = here.on_a_disk(f"{here.play}; code=$?; {left}; exit $code", options)
    assert ended.code == 5 and is_one_line(ended.err) and ended.out == "", ended.text
    assert not here.done.exists()


@disks
def test_a_disk_that_fills_up_during_a_run_does_not_end_it(here: Here) -> None:
    disk = here.folder / "disk"
    here.write(f"""
- hosts: all
  gather_facts: false
  tasks:
    - {{name: fill, shell: "dd if=/dev/zero of={disk}/filler bs=1k 2>/dev/null; true"}}
    - {{name: talk, shell: "seq 20000"}}
    - {{name: fails, shell: "echo no; false", ignore_errors: true}}
    - {{name: last, command: touch {here.done}}}
""")
    shown = f"{INVOKE} runs.show --json"
    ended = here.on_a_disk(
        f"{here.play} --json >{here.folder}/out; code=$?; rm {disk}/filler; {shown}; exit $code"
    )
    assert ended.code == 8 and here.done.exists(), ended.text
    assert (
        ended.err.count("is not complete: No space left on device") == 1
        and "Traceback" not in ended.text
    )
    assert json.loads((here.folder / "out").read_text())["exit_code"] == 8
    assert ended.data["events"][0]["event"] == "run", "what was recorded is readable"


@disks
def test_a_record_that_is_deleted_during_a_run_does_not_end_it(here: Here) -> None:
    here.write(
        PLAYBOOK.replace("echo one", f"rm -r {here.folder}/disk/state/runs").replace(
            "DONE", str(here.done)
        )
    )
    ended = here.on_a_disk(here.play)
    assert ended.code == 8 and here.done.exists() and ended.err.count("\n") == 1, ended.text


def test_a_record_that_something_else_wrote_is_passed_over(here: Here) -> None:
    lines = [
        "7",
        "[]",
        "null",
        "{}",
        '{"event": 5}',
        '{"at": "x", "event": "run"}',
        '{"at": 1e999, "event": "run"}',
        "[" * 100_000,
        '"\\ud800"',
        "\x00",
        '{"event": "outcome", "status": ["failed"]}',
        '{"recap": {"a": 1}}',
    ]
    for number, text in enumerate([*lines, "\n".join(lines)]):
        folder = here.state / "runs" / f"20260101-0000{number:02}-abcdef"
        folder.mkdir(parents=True)
        for file in ("events.jsonl", "recap.json"):
            (folder / file).write_text(text + "\n")
    for words in ("runs.list", "runs.show --events", "runs.show --json"):
        ended = here.shell(f"{INVOKE} {words}")
        assert ended.code == 0 and len(ended.err.splitlines()) <= 1, (
            ended.text
        )  # one warning, however many lines
        assert "Traceback" not in ended.text
