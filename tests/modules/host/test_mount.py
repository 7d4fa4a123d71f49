"""host.mount: its table always, real mounting where this machine lets us."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from playrunner.modules.host.mount import Mount
from tests.support.host.performing import done, failure, undone


@pytest.fixture
def table(tmp_path: Path) -> Path:
    return tmp_path / "fstab"


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Path]:
    """A folder on which a tmpfs can be mounted."""
    folder = tmp_path / "place"
    if os.geteuid() != 0:
        pytest.skip("mounting needs root")
    trial = tmp_path / "trial"
    trial.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "tmpfs", trial], capture_output=True).returncode:
        pytest.skip("this machine does not let us mount")
    subprocess.run(["umount", trial], check=True)
    yield folder
    subprocess.run(["umount", folder], capture_output=True)


def step(table: Path, place: Path, **more: Any) -> Mount:
    return Mount(
        **{
            "path": str(place),
            "src": "tmpfs",
            "fstype": "tmpfs",
            "opts": "size=1m",
            "state": "mounted",
            "fstab": str(table),
            **more,
        }
    )


def test_present_is_about_the_table_alone(table: Path, tmp_path: Path) -> None:
    table.write_text("# mine\n/dev/a / ext4 defaults 0 1\n")
    wanted = step(
        table,
        tmp_path / "a b",
        src="/dev/x y",
        fstype="ext4",
        state="present",
        passno="2",
        boot=False,
    )
    assert done(wanted, check=True)["changed"] and "noauto" not in table.read_text()
    assert done(wanted)["changed"] and not done(wanted)["changed"]
    line = f"/dev/x\\040y {tmp_path}/a\\040b ext4 size=1m,noauto 0 2\n"
    assert table.read_text() == "# mine\n/dev/a / ext4 defaults 0 1\n" + line
    assert done(step(table, tmp_path / "a b", state="absent_from_fstab"))["changed"]
    assert table.read_text() == "# mine\n/dev/a / ext4 defaults 0 1\n"


def test_absent_leaves_a_folder_that_is_no_mount_point(table: Path, tmp_path: Path) -> None:
    folder = tmp_path / "data"
    folder.mkdir()
    absent = step(table, folder, src=None, fstype=None, state="absent")
    assert not done(absent)["changed"] and folder.is_dir()
    done(step(table, folder, state="present"))
    assert done(absent)["changed"] and not folder.exists() and not done(absent)["changed"]


def test_absent_leaves_a_mount_that_the_table_does_not_know(table: Path, place: Path) -> None:
    done(step(table, place, state="ephemeral"))
    assert not done(step(table, place, src=None, fstype=None, state="absent"))[
        "changed"
    ] and os.path.ismount(place)


def test_mounted_unmounted_and_absent(table: Path, place: Path) -> None:
    assert done(step(table, place), check=True)["changed"] and not place.exists()
    assert done(step(table, place))["changed"] and os.path.ismount(place)
    assert not done(step(table, place))["changed"]
    assert table.read_text() == f"tmpfs {place} tmpfs size=1m 0 0\n"
    unmounted = step(table, place, src=None, fstype=None, state="unmounted")
    assert (
        done(unmounted)["changed"] and not os.path.ismount(place) and not done(unmounted)["changed"]
    )
    done(step(table, place))
    absent = step(table, place, src=None, fstype=None, state="absent")
    assert done(absent)["changed"] and not place.exists() and table.read_text() == ""
    assert not done(absent)["changed"]


def test_new_options_reach_what_is_mounted(table: Path, place: Path) -> None:
    done(step(table, place))
    assert done(step(table, place, opts="size=1m,noexec"))["changed"]
    line = next(
        line for line in Path("/proc/mounts").read_text().splitlines() if f" {place} " in line
    )
    assert "noexec" in line and not done(step(table, place, opts="size=1m,noexec"))["changed"]


def test_remounting_always_changes_and_needs_a_mount(table: Path, place: Path) -> None:
    again = step(table, place, src=None, fstype=None, state="remounted")
    assert "not mounted" in str(failure(again))
    done(step(table, place))
    assert done(again)["changed"] and os.path.ismount(place)


def test_ephemeral_leaves_the_table_alone(table: Path, place: Path) -> None:
    assert done(step(table, place, state="ephemeral"))["changed"]
    assert os.path.ismount(place) and not table.exists()


def test_a_mount_that_fails_leaves_the_table_as_it_was(table: Path, place: Path) -> None:
    table.write_text("# mine\n")
    assert "Error mounting" in str(
        failure(step(table, place, src="/nosuchdevice", fstype="ext4", opts="defaults"))
    )
    assert table.read_text() == "# mine\n"


def test_a_mount_can_be_taken_back(table: Path, place: Path) -> None:
    before = done(step(table, place))["diff"]["before"]
    undone(step(table, place), before)
    assert not os.path.ismount(place) and table.read_text() == ""


def test_what_is_mounted_must_be_said(table: Path, tmp_path: Path) -> None:
    assert "src, fstype" in str(failure(step(table, tmp_path, src=None, fstype=None)))
