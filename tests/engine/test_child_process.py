"""How an agent starts programs: without `subprocess` where nothing special is asked, and the same
for who runs them."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from playrunner.hostside.child_process import Spawned, started
from tests.support.host.performing import context

WAYS = pytest.mark.parametrize("cwd", [None, "/"], ids=["spawned", "popen"])
LONG = "text \udcff" * 200_000  # more than a pipe holds, and a byte that is no UTF-8


def test_subprocess_is_used_only_where_a_folder_a_mask_or_a_path_is_asked_for() -> None:
    plain = {"cwd": None, "env": None, "umask": -1, "feeds": False}
    for asked, spawned in (
        ({}, True),
        ({"env": {"LC_ALL": "C"}}, True),
        ({"env": {"PATH": "/bin"}}, False),
        ({"cwd": "/"}, False),
        ({"umask": 0o77}, False),
    ):
        process = started(["/bin/true"], **{**plain, **asked})  # type: ignore[arg-type]
        assert isinstance(process, Spawned) is spawned
        assert process.wait() == 0
        process.stdout.close()
        process.stderr.close()


@WAYS
def test_both_streams_and_the_status_come_back(cwd: str | None) -> None:
    ran = context().run("echo out; echo err >&2; exit 3", cwd=cwd)
    assert (ran.rc, ran.out, ran.err) == (3, "out\n", "err\n")


@WAYS
def test_a_program_that_a_signal_ended_has_its_negative_number(cwd: str | None) -> None:
    assert context().run("kill -KILL $$", cwd=cwd).rc == -signal.SIGKILL


@WAYS
def test_long_input_arrives_whole_while_the_program_answers(cwd: str | None) -> None:
    ran = context().run(["cat"], stdin=LONG, cwd=cwd)
    assert ran.out == LONG.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


@WAYS
def test_without_input_a_program_reads_nothing(cwd: str | None) -> None:
    assert context().run(["cat"], cwd=cwd).out == ""


@WAYS
def test_a_program_that_is_not_there_is_named(cwd: str | None) -> None:
    before = _open_files()
    with pytest.raises(FileNotFoundError) as caught:
        context().run(["no-such-program", "x"], cwd=cwd)
    assert caught.value.filename == "no-such-program"
    # The context's own one aside
    assert len(_open_files()) <= len(before) + 1


@WAYS
def test_a_file_that_may_not_be_run_is_named(tmp_path: Path, cwd: str | None) -> None:
    plain = tmp_path / "plain"
    plain.write_text("x")
    with pytest.raises(PermissionError) as caught:
        context().run([str(plain)], cwd=cwd)
    assert caught.value.filename == str(plain)


@WAYS
def test_a_program_leads_a_session_with_plain_signals_and_no_other_files(cwd: str | None) -> None:
    ran = context().run("echo $$; ps -o sid= -p $$", cwd=cwd)
    pid, session = ran.out.split()
    assert pid == session
    inherited = context().run(["ls", "/proc/self/fd"], cwd=cwd).out.split()
    assert inherited == ["0", "1", "2", "3"]  # the last one is what ls reads
    # Python ignores this one, and so would what it starts
    assert context().run("kill -PIPE $$; echo ignored", cwd=cwd).rc == -signal.SIGPIPE


@WAYS
def test_variables_are_added_to_those_of_the_agent(
    monkeypatch: pytest.MonkeyPatch, cwd: str | None
) -> None:
    monkeypatch.setenv("OF_THE_AGENT", "kept")
    ran = context().run("echo $OF_THE_AGENT $OWN", env={"OWN": "added"}, cwd=cwd)
    assert ran.out == "kept added\n"


def _open_files() -> list[str]:
    return os.listdir("/proc/self/fd")
