"""host.unarchive keeps its promises."""

from __future__ import annotations

import io
import os
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from playrunner.hostside.module import Failed
from playrunner.hostside.perform import perform
from playrunner.modules.host.unarchive import Unarchive
from tests.support.host.contract import keeps_its_promise, tree_of


@pytest.fixture
def packed(tmp_path: Path) -> Path:
    """A folder with archives of the same files."""
    source = tmp_path / "source"
    (source / "d").mkdir(parents=True)
    (source / "a").write_text("one\n")
    (source / "d/run").write_text("two\n")
    (source / "d/run").chmod(0o750)
    (source / "l").symlink_to("a")
    for ending, how in (("tar", "w"), ("tar.gz", "w:gz"), ("tar.bz2", "w:bz2"), ("tar.xz", "w:xz")):
        with tarfile.open(tmp_path / f"t.{ending}", how) as archive:  # type: ignore[call-overload]
            archive.add(source, ".")
    with zipfile.ZipFile(tmp_path / "t.zip", "w") as packing:
        packing.write(source / "a", "a")
        packing.write(source / "d/run", "d/run")
    return tmp_path


@pytest.mark.parametrize("ending", ["tar", "tar.gz", "tar.bz2", "tar.xz", "zip"])
def test_an_archive_is_unpacked_once_and_taken_back(
    host: Callable[..., Any], folder: Path, packed: Path, ending: str
) -> None:
    result = keeps_its_promise(
        host,
        lambda: Unarchive(
            src=str(packed / f"t.{ending}"), dest=str(folder), remote_src=True, list_files=True
        ),
        lambda: tree_of(folder),
        disturb=lambda: (folder / "a").write_text("else") and None,
    )
    assert result["dest"] == str(folder) and "d/run" in result["files"]
    perform(Unarchive(src=str(packed / f"t.{ending}"), dest=str(folder), remote_src=True), host())
    assert (folder / "d/run").read_text() == "two\n" and (
        folder / "d/run"
    ).stat().st_mode & 0o777 == 0o750


def test_a_shipped_archive_is_unpacked(ctx: Any, folder: Path, packed: Path) -> None:
    data = (packed / "t.tar.gz").read_bytes()
    upload = {
        "name": "t.tar.gz",
        "sha1": "",
        "size": len(data),
        "mode": "0644",
        "text": data.decode("latin-1"),
    }
    assert perform(Unarchive(src=upload, dest=str(folder)), ctx)["handler"] == "TgzArchive"
    assert os.readlink(folder / "l") == "a"


@pytest.mark.parametrize(
    "arguments, names",
    [
        ({"exclude": ["d/run"]}, {"a", "d", "l"}),
        ({"exclude": ["d"]}, {"a", "l"}),
        ({"include": ["a"]}, {"a"}),
        ({"extra_opts": ["--strip-components=1"]}, {"run"}),
        ({"extra_opts": ["--transform=s,run,walk,", "--no-same-owner"]}, {"a", "d", "d/walk", "l"}),
    ],
)
def test_members_can_be_chosen(
    ctx: Any, folder: Path, packed: Path, arguments: dict[str, Any], names: set[str]
) -> None:
    step = {"src": str(packed / "t.tar"), "dest": str(folder), "remote_src": True, **arguments}
    assert perform(Unarchive(**step), ctx)["changed"]
    assert tree_of(folder).keys() == names
    assert not perform(Unarchive(**step), ctx)["changed"]


def test_modes_can_be_given(ctx: Any, folder: Path, packed: Path) -> None:
    step = {
        "src": str(packed / "t.tar"),
        "dest": str(folder),
        "remote_src": True,
        "mode": "u=rwX,go=",
    }
    perform(Unarchive(**step), ctx)
    tree = tree_of(folder)
    assert tree["a"][1] == 0o600 and tree["d"][1] == 0o700 and tree["d/run"][1] == 0o700
    assert not perform(Unarchive(**step), ctx)["changed"]


def test_newer_files_stay_when_asked(ctx: Any, folder: Path, packed: Path) -> None:
    step = {
        "src": str(packed / "t.tar"),
        "dest": str(folder),
        "remote_src": True,
        "keep_newer": True,
    }
    perform(Unarchive(**step), ctx)
    (folder / "a").write_text("newer")
    os.utime(folder / "a", (2e9, 2e9))
    assert not perform(Unarchive(**step), ctx)["changed"] and (folder / "a").read_text() == "newer"


def test_creates_is_heeded(ctx: Any, folder: Path) -> None:
    assert not perform(
        Unarchive(src="/gone", dest=str(folder), remote_src=True, creates=str(folder)), ctx
    )["changed"]


@pytest.mark.parametrize("name", ["../out", "/etc/out"])
def test_a_member_that_would_leave_the_folder_is_refused(
    ctx: Any, folder: Path, packed: Path, name: str
) -> None:
    with tarfile.open(packed / "evil.tar", "w") as archive:
        archive.addfile(tarfile.TarInfo(name), io.BytesIO())
    with pytest.raises(Failed, match="outside the folder"):
        perform(Unarchive(src=str(packed / "evil.tar"), dest=str(folder), remote_src=True), ctx)


def test_a_link_in_the_archive_is_no_way_out(ctx: Any, folder: Path, packed: Path) -> None:
    outside = packed / "outside"
    outside.mkdir()
    with tarfile.open(packed / "evil.tar", "w") as archive:
        link = tarfile.TarInfo("way")
        link.type, link.linkname = tarfile.SYMTYPE, str(outside)
        archive.addfile(link)
        archive.addfile(tarfile.TarInfo("way/out"), io.BytesIO())
    with pytest.raises(Failed, match="leads out of"):
        perform(Unarchive(src=str(packed / "evil.tar"), dest=str(folder), remote_src=True), ctx)
    assert not list(outside.iterdir())


@pytest.mark.parametrize(
    "arguments, words",
    [
        ({"src": "gone.tar"}, "gone.tar' does not exist"),
        ({"src": "source/a"}, "neither a tar nor a zip"),
        ({"src": "t.tar", "dest": "nowhere"}, "must be an existing dir"),
        ({"src": "t.tar", "extra_opts": ["--no-such-option"]}, "unrecognized option"),
    ],
)
def test_what_cannot_be_unpacked_is_said(
    ctx: Any, folder: Path, packed: Path, arguments: dict[str, Any], words: str
) -> None:
    arguments = {
        "dest": str(folder),
        "remote_src": True,
        **arguments,
        "src": str(packed / arguments["src"]),
    }
    with pytest.raises(Failed, match=words):
        perform(Unarchive(**arguments), ctx)
