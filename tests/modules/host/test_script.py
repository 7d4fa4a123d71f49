"""host.script."""

from __future__ import annotations

from pathlib import Path

import pytest

from playrunner.modules.host.script import Script, arguments_of
from tests.support.host.performing import done, failure


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    return tmp_path / "home"


def shipped(text: str) -> dict[str, str]:
    return {"name": "s.sh", "text": text, "mode": "0644"}


def test_it_runs_with_its_arguments_and_leaves_nothing_behind(home: Path) -> None:
    result = done(
        Script(cmd='s.sh a "b c" $HOME', script=shipped('#!/bin/sh\nfor a; do echo "$a"; done\n'))
    )
    assert (
        result["stdout_lines"] == ["a", "b c", str(home)]
        and result["changed"]
        and result["rc"] == 0
    )
    assert not list(home.glob(".playrunner/*"))


def test_a_failing_script_leaves_nothing_behind_either(home: Path) -> None:
    assert failure(Script(cmd="s.sh", script=shipped("#!/bin/sh\nexit 3\n"))).values["rc"] == 3
    assert not list(home.glob(".playrunner/*"))


def test_what_runs_it_can_be_chosen() -> None:
    step = Script(
        cmd="s.py 1 2", script=shipped("import sys; print(sys.argv[1:])"), executable="python3"
    )
    assert done(step)["stdout"] == "['1', '2']\n"


def test_creates_skips_it(tmp_path: Path) -> None:
    result = done(Script(cmd="s.sh", script=shipped("#!/bin/sh\n"), creates=str(tmp_path)))
    assert result["skipped"] and result["msg"] == f"{tmp_path} exists, matching creates option"
    result = done(Script(cmd="s.sh", script=shipped("#!/bin/sh\n"), removes=str(tmp_path / "no")))
    assert result["skipped"] and result["msg"].endswith("does not exist, matching removes option")


def test_the_path_may_be_quoted() -> None:
    assert arguments_of("'my script.sh' a b") == "a b"
    assert arguments_of("s.sh") == ""
