"""attributes, seuser, serole, setype and selevel of every module that writes at a path."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from playrunner.modules.host import _labels
from playrunner.modules.host.copy import Copy
from playrunner.modules.host.file import File
from playrunner.modules.host.lineinfile import Lineinfile
from tests.support.host.performing import done, undone


@pytest.fixture
def target(tmp_path: Path) -> Iterator[Path]:
    path = tmp_path / "file"
    path.write_text("text\n")
    if os.geteuid() or subprocess.run(["chattr", "+A", str(path)], check=False).returncode:
        pytest.skip("needs root and a file system that keeps flags")
    subprocess.run(["chattr", "-A", str(path)], check=True)
    yield path
    subprocess.run(["chattr", "-i", str(path)], check=False)


def flags(path: Path) -> str:
    ran = subprocess.run(["lsattr", "-d", str(path)], capture_output=True, text=True, check=True)
    return ran.stdout.split()[0].replace("-", "")


def test_flags_are_added_once_and_taken_back(target: Path) -> None:
    step = File(path=str(target), attributes="+iA")
    assert done(step, check=True)["changed"] and "i" not in flags(target)
    first = done(step)
    assert first["changed"] and {"i", "A"} <= set(flags(target))
    assert not done(step)["changed"]
    undone(step, first["diff"]["before"])
    assert not {"i", "A"} & set(flags(target))


def test_flags_are_taken_away_and_set_alone(target: Path) -> None:
    done(File(path=str(target), attributes="+dA"))
    assert done(File(path=str(target), attributes="-d"))["changed"]
    assert not done(File(path=str(target), attributes="-d"))["changed"]
    assert done(File(path=str(target), attributes="=d"))["changed"]
    assert set(flags(target)) - {"e"} == {"d"}
    assert not done(File(path=str(target), attributes="d"))["changed"]


def test_a_new_file_gets_its_flags_once_it_is_in_place(target: Path) -> None:
    new = target.with_name("new")
    assert done(Copy(dest=str(new), content="x", attributes="+A"))["changed"]
    assert (
        "A" in flags(new) and not done(Copy(dest=str(new), content="x", attributes="+A"))["changed"]
    )


def test_a_recursion_reaches_what_is_below(target: Path) -> None:
    step = File(path=str(target.parent), state="directory", recurse=True, attributes="+d")
    assert done(step)["changed"] and "d" in flags(target)
    assert not done(step)["changed"]


def test_a_context_is_left_aside_without_selinux(tmp_path: Path) -> None:
    step = Copy(dest=str(tmp_path / "f"), content="x", setype="etc_t", seuser="system_u")
    assert done(step)["changed"] and not done(step)["changed"]


def test_parts_of_a_context_are_set_where_selinux_runs(
    target: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_labels, "SELINUX", str(target.parent))  # any folder that is there
    os.setxattr(target, "security.selinux", b"system_u:object_r:tmp_t:s0\0")
    step = Lineinfile(path=str(target), line="text", setype="etc_t", selevel="s0:c1")
    assert done(step, check=True)["changed"]
    assert _labels.context_of(str(target)) == "system_u:object_r:tmp_t:s0"
    assert done(step)["changed"] and not done(step)["changed"]
    assert _labels.context_of(str(target)) == "system_u:object_r:etc_t:s0:c1"
