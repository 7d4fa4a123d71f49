"""host.command, and what it shares with shell and script."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from playrunner.modules.host.command import Command
from tests.support.host.performing import done, failure


def test_it_says_what_was_run_and_what_came_out() -> None:
    result = done(Command(cmd="printf 'a\\nb\\n\\n'"))
    assert result["cmd"] == ["printf", "a\\nb\\n\\n"]
    assert (result["rc"], result["stdout"], result["stdout_lines"], result["stderr"]) == (
        0,
        "a\nb",
        ["a", "b"],
        "",
    )
    assert (
        result["changed"]
        and result["start"] < result["end"]
        and result["delta"].startswith("0:00:00.")
    )


def test_there_is_no_shell(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PLACE", "/somewhere")
    result = done(Command(cmd="echo $PLACE/x ~ a~ * ; '| cat' $NOSUCHNAME"))
    assert result["stdout"] == f"/somewhere/x {os.path.expanduser('~')} a~ * ; | cat $NOSUCHNAME"


def test_arguments_are_left_alone_when_asked() -> None:
    assert (
        done(Command(argv=["echo", "$HOME", "~"], expand_argument_vars=False))["stdout"]
        == "$HOME ~"
    )


def test_a_list_may_hold_numbers() -> None:
    assert done(Command(argv=["echo", 1, 2.5, "a  b"]))["stdout"] == "1 2.5 a  b"


def test_a_failing_program_fails_the_step_with_its_output() -> None:
    failed = failure(Command(argv=["sh", "-c", "echo out; echo err >&2; exit 3"]))
    assert str(failed) == "non-zero return code"
    assert (failed.values["rc"], failed.values["stdout"], failed.values["stderr"]) == (
        3,
        "out",
        "err",
    )
    assert failed.values["changed"]


def test_a_program_that_is_not_there_is_named() -> None:
    failed = failure(Command(cmd="nosuchprogram x"))
    assert "nosuchprogram" in str(failed) and failed.values["rc"] == 2


def test_standard_input_ends_with_a_newline_unless_told_otherwise() -> None:
    assert done(Command(cmd="wc -c", stdin="abc"))["stdout"].strip() == "4"
    assert done(Command(cmd="wc -c", stdin="abc", stdin_add_newline=False))["stdout"].strip() == "3"


def test_empty_ends_are_kept_when_asked() -> None:
    assert done(Command(cmd="printf 'a\\n\\n'", strip_empty_ends=False))["stdout"] == "a\n\n"


def test_creates_says_that_it_is_done_already(tmp_path: Path) -> None:
    (tmp_path / "made").touch()
    result = done(Command(cmd="false", creates="mad?", chdir=str(tmp_path)))
    assert not result["changed"] and result["rc"] == 0
    assert result["stdout"] == "skipped, since mad? exists"
    assert result["msg"] == "Did not run command since 'mad?' exists"


def test_removes_says_that_there_is_nothing_to_do(tmp_path: Path) -> None:
    result = done(Command(cmd="false", removes=str(tmp_path / "gone")), check=True)
    assert not result["changed"] and result["msg"].startswith("Would not run command since")


def test_check_foresees_only_what_a_guard_tells(tmp_path: Path) -> None:
    guarded = done(Command(cmd=f"touch {tmp_path}/x", creates=str(tmp_path / "x")), check=True)
    assert guarded["changed"] and not guarded.get("unknown")
    unguarded = done(Command(cmd=f"touch {tmp_path}/x"), check=True)
    assert not unguarded["changed"] and unguarded["unknown"]
    assert not (tmp_path / "x").exists()


def test_a_folder_that_is_not_there_is_a_failure_also_in_check(tmp_path: Path) -> None:
    assert "change directory" in str(
        failure(Command(cmd="pwd", chdir=str(tmp_path / "no")), check=True)
    )


def test_an_open_quotation_is_explained() -> None:
    assert "closing quotation" in str(failure(Command(cmd="echo 'a")))


def test_exactly_one_way_to_say_the_command() -> None:
    assert Command.check({"cmd": "a"}) is None
    assert "one of them" in (Command.check({"cmd": "a", "argv": ["b"]}) or "")
    assert "one of the following is required" in (Command.check({}) or "")
