"""A full disk, a read-only folder, no permission: nothing half-written, and a message that names
the path."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from playrunner.hostside.module import Failed
from playrunner.hostside.perform import perform
from playrunner.modules.host.copy import Copy
from playrunner.modules.host.file import File
from playrunner.modules.host.lineinfile import Lineinfile


@pytest.fixture
def mounted(tmp_path: Path) -> Iterator[Path]:
    """A file system of one mebibyte."""
    place = tmp_path / "small"
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=1m", "small", str(place)]
    if (
        os.geteuid()
        or not shutil.which("mount")
        or subprocess.run(mount, capture_output=True, check=False).returncode
    ):
        pytest.skip("needs root and the right to mount")
    yield place
    subprocess.run(["umount", "-l", str(place)], check=True)


def test_a_full_disk_leaves_the_earlier_file_and_no_scrap(ctx: Any, mounted: Path) -> None:
    (mounted / "f").write_text("earlier")
    with pytest.raises(Failed, match=f"{mounted}/f: No space left on device; free some space"):
        perform(Copy(content="x" * 3_000_000, dest=str(mounted / "f")), ctx)
    assert [path.name for path in mounted.iterdir()] == ["f"] and (
        mounted / "f"
    ).read_text() == "earlier"


def test_a_read_only_file_system_is_named(ctx: Any, mounted: Path) -> None:
    (mounted / "f").write_text("earlier\n")
    subprocess.run(["mount", "-o", "remount,ro", str(mounted)], check=True)
    with pytest.raises(Failed, match=f"{mounted}/f: Read-only file system"):
        perform(Lineinfile(path=str(mounted / "f"), line="more"), ctx)
    with pytest.raises(Failed, match="mounted read-only"):
        perform(File(path=str(mounted / "d"), state="directory"), ctx)
    assert [path.name for path in mounted.iterdir()] == ["f"]


def test_a_folder_without_permission_is_named(tmp_path: Path) -> None:
    if os.geteuid():
        pytest.skip("needs root to become somebody else")
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        from playrunner.hostside.agent import Wire
        from playrunner.hostside.host_context import HostContext

        os.chdir("/")
        os.setresuid(65534, 65534, 65534)
        ctx = HostContext(Wire(None, writer), {"id": 1})
        try:
            perform(File(path="/etc/playrunner-may-not", state="directory"), ctx)
        except Failed as failure:
            os.write(writer, str(failure).encode())
        os._exit(0)
    os.close(writer)
    os.waitpid(child, 0)
    with os.fdopen(reader) as answer:
        assert answer.read().startswith(
            "/etc/playrunner-may-not: Permission denied; run the step with become"
        )
