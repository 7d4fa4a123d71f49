"""host.copy keeps its promises."""

from __future__ import annotations

import hashlib
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from playrunner.hostside.module import Failed
from playrunner.hostside.perform import perform
from playrunner.modules.host.copy import Copy
from tests.support.host.contract import keeps_its_promise, tree_of

Host = Callable[..., Any]


def upload(data: bytes, name: str = "f.txt", mode: str = "0644") -> dict[str, Any]:
    return {
        "name": name,
        "sha1": hashlib.sha1(data).hexdigest(),
        "size": len(data),
        "mode": mode,
        "text": data.decode("latin-1"),
    }


def shipped_folder(trailing_slash: bool) -> dict[str, Any]:
    return {
        "name": "tree",
        "folder": True,
        "trailing_slash": trailing_slash,
        "mode": "0755",
        "files": [
            {"path": "a.txt", "kind": "file", **upload(b"a\n")},
            {"path": "sub", "kind": "directory", "mode": "0700"},
            {"path": "sub/run", "kind": "file", **upload(b"b\n", mode="0755")},
            {"path": "link", "kind": "link", "target": "a.txt"},
            {"path": "empty", "kind": "directory", "mode": "0755"},
        ],
    }


def test_a_shipped_file_is_written_mended_and_taken_back(host: Host, folder: Path) -> None:
    target = folder / "g"
    result = keeps_its_promise(
        host,
        lambda: Copy(src=upload(b"hello\n"), dest=str(target), mode="0640"),
        lambda: tree_of(folder),
        disturb=lambda: target.write_text("else\n") and None,
    )
    assert result["dest"] == str(target) and result["mode"] == "0640" and result["size"] == 6
    assert result["checksum"] == hashlib.sha1(b"hello\n").hexdigest()


def test_an_earlier_file_comes_back_with_its_mode(host: Host, folder: Path) -> None:
    (folder / "g").write_text("earlier\n")
    (folder / "g").chmod(0o600)
    keeps_its_promise(
        host,
        lambda: Copy(content="later\n", dest=str(folder / "g"), mode="0644"),
        lambda: tree_of(folder),
    )


@pytest.mark.parametrize("trailing_slash, top", [(False, "o/tree"), (True, "o")])
def test_a_folder_is_copied_whole_and_taken_back(
    host: Host, folder: Path, trailing_slash: bool, top: str
) -> None:
    keeps_its_promise(
        host,
        lambda: Copy(src=shipped_folder(trailing_slash), dest=str(folder / "o")),
        lambda: tree_of(folder),
        disturb=lambda: (folder / top / "sub/run").unlink(),
    )
    perform(Copy(src=shipped_folder(trailing_slash), dest=str(folder / "o")), host())
    assert (folder / top / "sub/run").read_text() == "b\n"
    assert os.readlink(folder / top / "link") == "a.txt" and (folder / top / "empty").is_dir()


def test_modes_of_a_folders_files_and_folders_are_apart(ctx: Any, folder: Path) -> None:
    perform(
        Copy(src=shipped_folder(True), dest=str(folder / "o"), mode="0600", directory_mode="0750"),
        ctx,
    )
    tree = tree_of(folder)
    assert (
        tree["o"][1] == tree["o/sub"][1] == 0o750
        and tree["o/a.txt"][1] == tree["o/sub/run"][1] == 0o600
    )


def test_preserve_keeps_the_sources_mode(ctx: Any, folder: Path) -> None:
    perform(Copy(src=upload(b"x", mode="0750"), dest=str(folder / "g"), mode="preserve"), ctx)
    assert (folder / "g").stat().st_mode & 0o777 == 0o750


def test_a_directory_or_a_trailing_slash_keeps_the_name(ctx: Any, folder: Path) -> None:
    (folder / "e").mkdir()
    assert perform(Copy(src=upload(b"x"), dest=str(folder / "e")), ctx)["dest"] == str(
        folder / "e/f.txt"
    )
    perform(Copy(src=upload(b"x"), dest=str(folder / "new/deep") + "/", directory_mode="0700"), ctx)
    assert (folder / "new/deep/f.txt").read_bytes() == b"x" and (
        folder / "new"
    ).stat().st_mode & 0o777 == 0o700


def test_without_force_what_is_there_stays(ctx: Any, folder: Path) -> None:
    (folder / "g").write_text("mine")
    assert not perform(
        Copy(src=upload(b"x"), dest=str(folder / "g"), force=False, mode="0600"), ctx
    )["changed"]
    assert (folder / "g").read_text() == "mine"


def test_a_backup_is_kept_beside_it(ctx: Any, folder: Path) -> None:
    (folder / "g").write_text("mine")
    result = perform(Copy(src=upload(b"x"), dest=str(folder / "g"), backup=True), ctx)
    assert Path(result["backup_file"]).read_text() == "mine"
    assert result["backup_file"].startswith(f"{folder}/g.{os.getpid()}.") and result[
        "backup_file"
    ].endswith("~")


def test_a_link_is_replaced_unless_followed(ctx: Any, folder: Path) -> None:
    (folder / "g").write_text("mine")
    (folder / "l").symlink_to("g")
    perform(Copy(src=upload(b"x"), dest=str(folder / "l"), follow=True), ctx)
    assert (folder / "l").is_symlink() and (folder / "g").read_text() == "x"
    perform(Copy(src=upload(b"y"), dest=str(folder / "l")), ctx)
    assert not (folder / "l").is_symlink() and (folder / "g").read_text() == "x"


def test_a_file_that_does_not_validate_changes_nothing(ctx: Any, folder: Path) -> None:
    (folder / "g").write_text("mine")
    with pytest.raises(Failed, match="failed to validate") as failure:
        perform(Copy(content="bad", dest=str(folder / "g"), validate="grep -q good %s"), ctx)
    assert failure.value.values["exit_status"] == 1
    assert tree_of(folder).keys() == {"g"} and (folder / "g").read_text() == "mine"


def test_remote_src_reads_on_the_host(host: Host, folder: Path) -> None:
    (folder / "s/d").mkdir(parents=True)
    (folder / "s/d/f").write_text("deep")
    keeps_its_promise(
        host,
        lambda: Copy(src=str(folder / "s") + "/", dest=str(folder / "o"), remote_src=True),
        lambda: tree_of(folder),
    )
    perform(Copy(src=str(folder / "s/d/f"), dest=str(folder / "one"), remote_src=True), host())
    assert (folder / "one").read_text() == "deep"


@pytest.mark.parametrize(
    "arguments, words",
    [
        ({"src": upload(b"x"), "dest": "no/where"}, "Destination directory .*no does not exist"),
        ({"content": "x", "dest": "e"}, "dir as dest"),
        ({"src": upload(b"x"), "content": "x", "dest": "g"}, "mutually exclusive"),
        ({"dest": "g"}, "src .or content. is required"),
        ({"src": "gone", "dest": "g", "remote_src": True}, "Source .*gone not found"),
        (
            {"src": upload(b"x"), "dest": "g", "checksum": "0" * 40},
            "does not match the expected checksum",
        ),
        ({"src": shipped_folder(False), "dest": "f"}, "over the file"),
        ({"content": "x", "dest": "g", "validate": "true"}, "must contain %s"),
    ],
)
def test_what_cannot_be_done_is_said(
    ctx: Any, folder: Path, arguments: dict[str, Any], words: str
) -> None:
    (folder / "e").mkdir()
    (folder / "f").write_text("")
    before = tree_of(folder)
    arguments = {**arguments, "dest": str(folder / arguments["dest"])}
    with pytest.raises(Failed, match=words):
        perform(Copy(**arguments), ctx)
    assert tree_of(folder) == before


def test_binary_content_is_compared_by_its_sum(host: Host, folder: Path) -> None:
    data = bytes(range(256)) * 40
    first = perform(Copy(src=upload(data), dest=str(folder / "g")), host(diff=True))
    assert first["changed"] and first["diff"]["after"]["content"] is None
    assert (folder / "g").read_bytes() == data
    assert not perform(Copy(src=upload(data), dest=str(folder / "g")), host())["changed"]


def test_where_nothing_can_be_made_beside_it_a_file_is_written_in_place_if_asked(
    host: Host, folder: Path
) -> None:
    target = folder / "g"
    target.write_text("before\n")
    if subprocess.run(["chattr", "+i", str(folder)], capture_output=True, check=False).returncode:
        pytest.skip("this file system has no immutable folders")
    try:
        with pytest.raises(Failed):
            perform(Copy(content="after\n", dest=str(target)), host())
        assert target.read_text() == "before\n"
        assert perform(Copy(content="after\n", dest=str(target), unsafe_writes=True), host())[
            "changed"
        ]
    finally:
        subprocess.run(["chattr", "-i", str(folder)], check=True)
    assert tree_of(folder).keys() == {"g"} and target.read_text() == "after\n"
