"""host.shell."""

from __future__ import annotations

import time
from pathlib import Path

from playrunner.modules.host.shell import Shell
from tests.support.host.performing import done, failure


def test_pipes_and_variables_work() -> None:
    result = done(Shell(cmd="X=one; echo $X | tr a-z A-Z"))
    assert (result["stdout"], result["cmd"]) == ("ONE", "X=one; echo $X | tr a-z A-Z")


def test_the_shell_can_be_chosen() -> None:
    assert done(Shell(cmd="echo $0", executable="/bin/bash"))["stdout"] == "/bin/bash"


def test_it_runs_in_the_folder_asked_for(tmp_path: Path) -> None:
    assert done(Shell(cmd="pwd", chdir=str(tmp_path)))["stdout"] == str(tmp_path)


def test_a_failure_keeps_what_was_said() -> None:
    failed = failure(Shell(cmd="echo a; exit 4"))
    assert (failed.values["rc"], failed.values["stdout"]) == (4, "a")


def test_creates_guards_it(tmp_path: Path) -> None:
    step = Shell(cmd="echo x > made", creates="made", chdir=str(tmp_path))
    assert done(step)["changed"] and not done(step)["changed"]


def test_windows_line_ends_go_from_the_end_too() -> None:
    assert done(Shell(cmd=r"printf 'x\r\n\r\n'"))["stdout"] == "x"


def test_a_process_left_in_the_background_does_not_hold_the_step() -> None:
    started = time.monotonic()
    result = done(Shell(cmd="echo first; (sleep 0.3; echo second; exec sleep 20) &"))
    assert time.monotonic() - started < 10
    assert result["stdout_lines"] == ["first", "second"], "what was written until then is kept"


def test_output_of_the_shell_itself_is_waited_for() -> None:
    result = done(Shell(cmd="sleep 2.2; echo late"))
    assert result["stdout"] == "late"
