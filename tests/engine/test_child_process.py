"""How an agent starts programs: without `subprocess` where nothing special is asked, and the same
for who runs them."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

import pytest

from playrunner.hostside.child_process import Spawned, started
from tests.support.host.performing import context

WAYS = pytest.mark.parametrize(
    "asked", [{}, {"cwd": "/"}, {"umask": 0o22}], ids=["spawned", "in a folder", "popen"]
)
LONG = "text \udcff" * 200_000  # more than a pipe holds, and a byte that is no UTF-8


def test_subprocess_is_used_only_where_a_mask_or_a_path_is_asked_for() -> None:
    plain = {"cwd": None, "env": None, "umask": -1, "feeds": False}
    for asked, spawned in (
        ({}, True),
        ({"env": {"LC_ALL": "C"}}, True),
        ({"env": {"PATH": "/bin"}}, False),
        ({"cwd": "/"}, True),
        ({"umask": 0o77}, False),
    ):
        process = started(["/bin/true"], **{**plain, **asked})  # type: ignore[arg-type]
        assert isinstance(process, Spawned) is spawned
        assert process.wait() == 0
        process.stdout.close()
        process.stderr.close()


@WAYS
def test_both_streams_and_the_status_come_back(asked: dict[str, Any]) -> None:
    ran = context().run("echo out; echo err >&2; exit 3", **asked)
    assert (ran.rc, ran.out, ran.err) == (3, "out\n", "err\n")


@WAYS
def test_a_program_that_a_signal_ended_has_its_negative_number(asked: dict[str, Any]) -> None:
    assert context().run("kill -KILL $$", **asked).rc == -signal.SIGKILL


@WAYS
def test_long_input_arrives_whole_while_the_program_answers(asked: dict[str, Any]) -> None:
    ran = context().run(["cat"], stdin=LONG, **asked)
    assert ran.out == LONG.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


@WAYS
def test_without_input_a_program_reads_nothing(asked: dict[str, Any]) -> None:
    assert context().run(["cat"], **asked).out == ""


@WAYS
def test_a_program_that_is_not_there_is_named(asked: dict[str, Any]) -> None:
    before = _open_files()
    with pytest.raises(FileNotFoundError) as caught:
        context().run(["no-such-program", "x"], **asked)
    assert caught.value.filename == "no-such-program"
    # The context's own one aside
    assert len(_open_files()) <= len(before) + 1


@WAYS
def test_a_file_that_may_not_be_run_is_named(tmp_path: Path, asked: dict[str, Any]) -> None:
    plain = tmp_path / "plain"
    plain.write_text("x")
    with pytest.raises(PermissionError) as caught:
        context().run([str(plain)], **asked)
    assert caught.value.filename == str(plain)


@WAYS
def test_a_program_leads_a_session_with_plain_signals_and_no_other_files(
    asked: dict[str, Any],
) -> None:
    ran = context().run("echo $$; ps -o sid= -p $$", **asked)
    pid, session = ran.out.split()
    assert pid == session
    inherited = context().run(["ls", "/proc/self/fd"], **asked).out.split()
    assert inherited == ["0", "1", "2", "3"]  # the last one is what ls reads
    # Python ignores this one, and so would what it starts
    assert context().run("kill -PIPE $$; echo ignored", **asked).rc == -signal.SIGPIPE


@WAYS
def test_variables_are_added_to_those_of_the_agent(
    monkeypatch: pytest.MonkeyPatch, asked: dict[str, Any]
) -> None:
    monkeypatch.setenv("OF_THE_AGENT", "kept")
    ran = context().run("echo $OF_THE_AGENT $OWN", env={"OWN": "added"}, **asked)
    assert ran.out == "kept added\n"


def test_a_program_starts_in_its_folder_and_the_agent_stays_in_its_own(tmp_path: Path) -> None:
    (tmp_path / "here.sh").write_text("#!/bin/sh\npwd\n")
    (tmp_path / "here.sh").chmod(0o755)
    ctx = context()
    before = os.getcwd(), len(_open_files())
    assert ctx.run(["./here.sh"], cwd=str(tmp_path)).out == f"{tmp_path}\n"
    assert ctx.run("pwd", cwd=str(tmp_path)).out == f"{tmp_path}\n"
    assert (os.getcwd(), len(_open_files())) == before


@pytest.mark.parametrize("umask", [-1, 0o22], ids=["spawned", "popen"])
def test_a_folder_that_is_not_there_is_named(umask: int) -> None:
    ctx = context()
    before = os.getcwd(), len(_open_files())
    with pytest.raises(FileNotFoundError) as caught:
        ctx.run(["/bin/true"], cwd="/no/such/folder", umask=umask)
    assert caught.value.filename == "/no/such/folder"
    assert (os.getcwd(), len(_open_files())) == before


def test_an_agent_whose_own_folder_is_gone_starts_programs_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    assert context().run("pwd", cwd="/").out == "/\n"


def _open_files() -> list[str]:
    return os.listdir("/proc/self/fd")
