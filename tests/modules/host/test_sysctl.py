"""host.sysctl, with a file of its own and a value the kernel has already."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from playrunner.modules.host.sysctl import Sysctl
from tests.support.host.performing import done, failure, undone

SETTING = "vm.swappiness"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "sysctl.conf"


def step(file: Path, **more: Any) -> Sysctl:
    return Sysctl(
        **{"name": SETTING, "value": "10", "sysctl_file": str(file), "reload": False, **more}
    )


def test_a_setting_is_kept_once(file: Path) -> None:
    file.write_text("# mine\nnet.ipv4.ip_forward = 1\nvm.swappiness = 60\n; old\n")
    assert done(step(file), check=True)["changed"] and "60" in file.read_text()
    assert done(step(file))["changed"] and not done(step(file))["changed"]
    assert file.read_text() == "# mine\nnet.ipv4.ip_forward = 1\nvm.swappiness=10\n; old\n"


def test_blanks_between_values_do_not_matter(file: Path) -> None:
    file.write_text("net.ipv4.tcp_rmem=4096\t131072  6291456\n")
    assert not done(step(file, name="net.ipv4.tcp_rmem", value="4096 131072 6291456"))["changed"]


def test_words_for_yes_and_no_become_numbers(file: Path) -> None:
    for word, number in (
        ("yes", "1"),
        ("True", "1"),
        ("on", "1"),
        ("off", "0"),
        ("F", "0"),
        ("10", "10"),
    ):
        done(step(file, value=word))
        assert file.read_text() == f"vm.swappiness={number}\n"
        assert not done(step(file, value=word))["changed"]


def test_values_are_written_as_they_were_given(file: Path) -> None:
    done(step(file, name="net.ipv4.tcp_wmem", value=" 4096  16384 "))
    assert file.read_text() == "net.ipv4.tcp_wmem=4096  16384\n"


def test_a_name_with_slashes_is_another_line(file: Path) -> None:
    file.write_text("vm/swappiness=60\n")
    assert done(step(file))["changed"]
    assert file.read_text() == "vm/swappiness=60\nvm.swappiness=10\n"


def test_a_setting_goes(file: Path) -> None:
    file.write_text("a.b=1\nvm.swappiness=10\n")
    assert done(step(file, state="absent", value=None))["changed"]
    assert file.read_text() == "a.b=1\n"
    assert not done(step(file, state="absent", value=None))["changed"]


def test_an_earlier_value_is_put_back(file: Path) -> None:
    file.write_text("vm.swappiness=60\n")
    before = done(step(file))["diff"]["before"]
    undone(step(file), before)
    assert file.read_text() == "vm.swappiness=60\n"


def test_a_value_is_needed(file: Path) -> None:
    assert str(failure(step(file, value=" "))) == "value cannot be blank"


@pytest.mark.skipif(
    os.geteuid() != 0 or not shutil.which("sysctl") or not Path("/proc/sys/vm/swappiness").exists(),
    reason="needs root, sysctl and /proc/sys",
)
def test_the_kernel_is_told(file: Path) -> None:
    now = Path("/proc/sys/vm/swappiness").read_text().strip()
    result = done(step(file, value=now, sysctl_set=True, reload=True))
    assert result["changed"] and result["diff"]["before"] == {"kept": None, "live": now}
    assert not done(step(file, value=now, sysctl_set=True))["changed"]
    assert "no/such" in str(failure(step(file, name="no.such", reload=True)))
    assert done(step(file, name="no.such", value="2", reload=True, ignoreerrors=True))["changed"]
