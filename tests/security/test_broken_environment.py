"""A machine that gives out: no disk, no home, no output, too few files. One line, the right exit
code, nothing half-written."""

from __future__ import annotations

import json
import os
import resource
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.runner import LIMIT_SECONDS, REPOSITORY, Outcome

INVOKE = f"{shlex.quote(sys.executable)} -m invoke"
PLAYBOOK = """
- hosts: all
  gather_facts: false
  tasks:
    - {name: first, command: echo one}
    - {name: second, command: touch DONE}
"""


class Here:
    """A playbook and an inventory of this machine alone."""

    def __init__(self, folder: Path, hosts: int = 1) -> None:
        self.folder, self.state, self.done = folder, folder / "state", folder / "done"
        (folder / "hosts.ini").write_text(
            "".join(f"h{number} ansible_connection=local\n" for number in range(hosts))
        )
        self.write(PLAYBOOK.replace("DONE", str(self.done)))
        self.play = f"{INVOKE} play {folder}/play.yaml --inventory {folder}/hosts.ini"

    def write(self, playbook: str) -> None:
        (self.folder / "play.yaml").write_text(playbook)

    def shell(self, line: str, **environment: str) -> Outcome:
        """What a user types into a shell; bash, whose exit status is that of the last command."""
        told = {
            **os.environ,
            "PLAYRUNNER_STATE_HOME": str(self.state),
            "NO_COLOR": "1",
            **environment,
        }
        ended = subprocess.run(
            ["bash", "-c", line],
            cwd=REPOSITORY,
            env=told,
            text=True,
            capture_output=True,
            check=False,
            timeout=LIMIT_SECONDS,
            stdin=subprocess.DEVNULL,
        )
        return Outcome(ended.returncode, ended.stdout, ended.stderr)

    def on_a_disk(self, line: str, options: str = "size=64k") -> Outcome:
        """The same with a small disk of its own as the folder `disk`."""
        (self.folder / "disk").mkdir(exist_ok=True)
        mounted = f"mount -t tmpfs -o {options} none {self.folder}/disk && {line}"
        return self.shell(
            f"unshare -m bash -c {shlex.quote(mounted)}",
            PLAYRUNNER_STATE_HOME=f"{self.folder}/disk/state",
        )


@pytest.fixture
def here(tmp_path: Path) -> Here:
    return Here(tmp_path)


def is_one_line(text: str) -> bool:
    return text.startswith("error: ") and text.count("\n") == 1


def can_mount() -> bool:
    words = ["unshare", "-m", "mount", "-t", "tmpfs", "none", "/mnt"]
    return subprocess.run(words, capture_output=True, check=False).returncode == 0


disks = pytest.mark.skipif(not can_mount(), reason="a disk can be mounted by root only")


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


# Open files.


def test_the_soft_limit_on_open_files_is_raised_as_far_as_a_run_needs(tmp_path: Path) -> None:
    here = Here(tmp_path, hosts=60)
    ended = here.shell(f"ulimit -Sn 64; {here.play} --json")
    assert ended.code == 0 and ended.err == "", ended.err
    assert all(ended.counts(f"h{number}")["ok"] == 2 for number in range(60))


def test_where_few_files_may_be_open_fewer_hosts_are_worked_on_at_once(tmp_path: Path) -> None:
    here = Here(tmp_path, hosts=60)
    ended = here.shell(f"ulimit -n 64; {here.play} --json")
    assert (
        ended.code == 0
        and ended.err.startswith("note: running 2 hosts at a time")
        and ended.err.count("\n") == 1
    ), ended.err
    assert all(ended.counts(f"h{number}")["ok"] == 2 for number in range(60))


def test_where_no_host_can_be_reached_with_the_files_allowed_the_remedy_is_said(here: Here) -> None:
    ended = here.shell(f"ulimit -n 40; {here.play}")
    assert ended.code == 5 and is_one_line(ended.err) and "ulimit -n" in ended.err
    assert not here.done.exists()


def test_hosts_that_find_no_file_left_are_unreachable_in_one_line_each(tmp_path: Path) -> None:
    """Hosts that a playbook adds later were not counted when room was made."""
    here = Here(tmp_path)
    here.write("""
- hosts: all
  gather_facts: false
  tasks:
    - {name: add, add_host: {name: "x{{ item }}", groups: more, ansible_connection: local}, loop: "{{ range(40) | list }}"}
- hosts: more
  gather_facts: false
  strategy: linear
  tasks:
    - {name: first, command: echo}
    - {name: second, command: echo}
""")
    ended = here.shell(f"ulimit -n 64; {here.play} --forks 40")
    assert ended.code in (2, 4) and "Traceback" not in ended.text, ended.text
    assert "too many open files on this machine" in ended.out


def test_the_limit_is_left_alone_where_it_suffices() -> None:
    from playrunner.ssh.open_files import make_room

    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    assert make_room(hosts=2, forks=32) == 32
    assert resource.getrlimit(resource.RLIMIT_NOFILE) == before
