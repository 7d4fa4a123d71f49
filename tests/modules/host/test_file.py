"""host.file keeps its promises."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from playrunner.hostside.module import Failed
from playrunner.hostside.perform import perform, restore
from playrunner.modules.host.file import File
from tests.support.host.contract import keeps_its_promise, tree_of

Host = Callable[..., Any]


def mode_of(path: Path) -> str:
    return f"{path.stat().st_mode & 0o7777:04o}"


def test_a_directory_is_made_with_those_above_it_and_taken_back(host: Host, folder: Path) -> None:
    target = folder / "a/b/c"
    result = keeps_its_promise(
        host,
        lambda: File(path=str(target), state="directory", mode="0750"),
        lambda: tree_of(folder),
        disturb=lambda: target.chmod(0o700),
    )
    assert (
        result["path"] == str(target)
        and result["mode"] == "0750"
        and result["state"] == "directory"
    )


def test_a_mode_is_mended(host: Host, folder: Path) -> None:
    target = folder / "f"
    target.write_text("hi\n")
    keeps_its_promise(
        host,
        lambda: File(path=str(target), mode="u=rw,go="),
        lambda: tree_of(folder),
        disturb=lambda: target.chmod(0o644),
    )


def test_a_file_is_removed_and_put_back(host: Host, folder: Path) -> None:
    target = folder / "f"
    target.write_text("hi\n")
    target.chmod(0o640)
    keeps_its_promise(host, lambda: File(path=str(target), state="absent"), lambda: tree_of(folder))


def test_a_link_is_made_and_taken_back(host: Host, folder: Path) -> None:
    (folder / "f").write_text("hi\n")
    result = keeps_its_promise(
        host,
        lambda: File(path=str(folder / "l"), src="f", state="link"),
        lambda: tree_of(folder),
        disturb=lambda: (folder / "l").rename(folder / "l2").unlink(),
    )
    assert result["dest"] == str(folder / "l") and result["src"] == "f"


def test_a_file_replaced_by_a_link_comes_back(host: Host, folder: Path) -> None:
    (folder / "f").write_text("hi\n")
    (folder / "g").write_text("other\n")
    keeps_its_promise(
        host,
        lambda: File(path=str(folder / "g"), src="f", state="link", force=True),
        lambda: tree_of(folder),
    )


def test_a_hard_link_is_made(host: Host, folder: Path) -> None:
    (folder / "f").write_text("hi\n")
    keeps_its_promise(
        host,
        lambda: File(path=str(folder / "h"), src=str(folder / "f"), state="hard"),
        lambda: tree_of(folder),
    )


def test_recurse_mends_everything_below(host: Host, folder: Path) -> None:
    (folder / "e/x").mkdir(parents=True)
    (folder / "e/x/f").write_text("1")
    (folder / "e/run").write_text("2")
    (folder / "e/run").chmod(0o755)
    keeps_its_promise(
        host,
        lambda: File(path=str(folder / "e"), state="directory", recurse=True, mode="u=rwX,go="),
        lambda: tree_of(folder),
        disturb=lambda: (folder / "e/x/f").chmod(0o666),
    )


def test_a_whole_tree_is_removed(ctx: Any, folder: Path) -> None:
    (folder / "e/x").mkdir(parents=True)
    (folder / "e/x/f").write_text("1")
    (folder / "e/l").symlink_to("x")
    assert perform(File(path=str(folder / "e"), state="absent"), ctx)["changed"]
    assert not (folder / "e").exists()
    assert not perform(File(path=str(folder / "e"), state="absent"), ctx)["changed"]


def test_a_removed_link_leaves_what_it_points_to(ctx: Any, folder: Path) -> None:
    (folder / "e").mkdir()
    (folder / "e/f").write_text("kept")
    (folder / "l").symlink_to("e")
    perform(File(path=str(folder / "l"), state="absent"), ctx)
    assert (folder / "e/f").read_text() == "kept" and not (folder / "l").is_symlink()


def test_touch_always_changes(ctx: Any, folder: Path) -> None:
    target = folder / "f"
    assert perform(File(path=str(target), state="touch", mode="0600"), ctx)["changed"]
    os.utime(target, (1, 1))
    assert perform(File(path=str(target), state="touch"), ctx)["changed"]
    assert target.stat().st_mtime > 1000 and mode_of(target) == "0600"


def test_touch_that_preserves_times_is_quiet(ctx: Any, folder: Path) -> None:
    target = folder / "f"
    target.write_text("hi")
    os.utime(target, (1, 1))
    result = perform(
        File(path=str(target), state="touch", access_time="preserve", modification_time="preserve"),
        ctx,
    )
    assert not result["changed"] and target.stat().st_mtime == 1


def test_a_given_time_is_set_once(ctx: Any, folder: Path) -> None:
    target = folder / "f"
    target.write_text("hi")
    step = {"path": str(target), "state": "file", "modification_time": "202001020304.05"}
    assert perform(File(**step), ctx)["changed"]
    assert not perform(File(**step), ctx)["changed"]


@pytest.mark.parametrize(
    "before, asked, after",
    [
        ("0640", "u+x,g-r,o=r", "0704"),
        ("0640", "a+X", "0640"),
        ("0740", "a+X", "0751"),
        ("0640", "+x", "0751"),
        ("0640", "+w", "0640"),
        ("0640", "g=u,o=g", "0666"),
        ("0640", "u+s,g+s,+t", "7640"),
        ("6755", "u=rw,g=r", "0645"),
        ("0640", 0o600, "0600"),
        ("0640", "0755", "0755"),
        ("0640", "g+u-x", "0660"),
    ],
)
def test_modes_are_read_as_chmod_reads_them(
    ctx: Any, folder: Path, before: str, asked: Any, after: str
) -> None:
    target = folder / "f"
    target.write_text("")
    target.chmod(int(before, 8))
    perform(File(path=str(target), mode=asked), ctx)
    assert mode_of(target) == after


@pytest.mark.parametrize(
    "arguments, words",
    [
        ({"path": "f", "state": "directory"}, "f already exists as a file"),
        ({"path": "gone", "state": "file"}, "gone) is absent"),
        ({"path": "e", "state": "file"}, "e) is directory"),
        ({"path": "f", "mode": "rubbish"}, 'not "rubbish"'),
        ({"path": "f", "owner": "nosuchuser"}, "look up user nosuchuser"),
        ({"path": "l", "src": "gone", "state": "link"}, "src file does not exist"),
        ({"path": "f", "src": "e", "state": "link"}, "refusing to convert from file"),
        ({"path": "e", "src": "f", "state": "link", "force": True}, "not empty"),
        ({"path": "l", "state": "link"}, "src is required"),
        ({"path": "g", "src": "f"}, "src option requires state"),
        ({"path": "f", "state": "file", "recurse": True}, "recurse option requires state"),
    ],
)
def test_what_cannot_be_done_is_said(
    ctx: Any, folder: Path, monkeypatch: pytest.MonkeyPatch, arguments: dict[str, Any], words: str
) -> None:
    monkeypatch.chdir(folder)
    (folder / "f").write_text("hi")
    (folder / "e").mkdir()
    (folder / "e/x").write_text("")
    before = tree_of(folder)
    with pytest.raises(Failed, match=words.replace(")", r"\)")):
        perform(File(**arguments), ctx)
    assert tree_of(folder) == before


def test_an_unknown_owner_of_a_file_to_come_is_no_failure_under_check(
    host: Host, folder: Path
) -> None:
    assert perform(
        File(path=str(folder / "d"), state="directory", owner="made-later"), host(check=True)
    )["changed"]


def test_a_removed_tree_cannot_be_taken_back_and_says_so(host: Host, folder: Path) -> None:
    (folder / "tree").mkdir()
    (folder / "tree" / "file").write_text("x")
    ctx = host(diff=True)
    module = File(path=str(folder / "tree"), state="absent")
    removed = perform(module, ctx)
    with pytest.raises(Failed, match="1 entries it held were not kept"):
        restore(module, removed["diff"]["before"], ctx)
