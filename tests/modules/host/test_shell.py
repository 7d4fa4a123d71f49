"""host.shell."""

from __future__ import annotations

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
