"""host.find chooses files as asked."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

import pytest

from playrunner.hostside.module import Failed
from playrunner.hostside.perform import perform
from playrunner.modules.host.find import Find


@pytest.fixture
def place(folder: Path) -> Path:
    (folder / "x/y").mkdir(parents=True)
    for name in ("a.txt", "b.log", "x/c.txt", "x/y/d.txt", ".hidden.txt"):
        (folder / name).write_text(f"this is {name}\n")
    (folder / "big").write_bytes(b"\0" * 3000)
    (folder / "l.txt").symlink_to("a.txt")
    os.utime(folder / "a.txt", (time.time() - 3 * 86400,) * 2)
    return folder


@pytest.mark.parametrize(
    "arguments, names",
    [
        ({}, "a.txt b.log big"),
        ({"patterns": ["*.txt"]}, "a.txt"),
        ({"patterns": ["*.txt"], "recurse": True}, "a.txt c.txt d.txt"),
        ({"patterns": ["*.txt"], "hidden": True}, ".hidden.txt a.txt"),
        ({"file_type": "directory", "recurse": True}, "x y"),
        ({"file_type": "link"}, "l.txt"),
        ({"recurse": True, "depth": 2, "patterns": ["*.txt"]}, "a.txt c.txt"),
        ({"age": "2d"}, "a.txt"),
        ({"age": "-2d"}, "b.log big"),
        ({"size": "1k"}, "big"),
        ({"size": "-1k"}, "a.txt b.log"),
        ({"patterns": [r"^[ab]\."], "use_regex": True}, "a.txt b.log"),
        ({"excludes": ["*.log"]}, "a.txt big"),
        ({"contains": ".*is b"}, "b.log"),
        ({"contains": r"is a\.txt\n", "read_whole_file": True}, "a.txt"),
        ({"file_type": "any"}, "a.txt b.log big l.txt x"),
        ({"mode": "0644", "patterns": ["b*"]}, "b.log big"),
    ],
)
def test_files_are_chosen(ctx: Any, place: Path, arguments: dict[str, Any], names: str) -> None:
    result = perform(Find(paths=[str(place)], **arguments), ctx)
    assert sorted(os.path.basename(one["path"]) for one in result["files"]) == names.split()
    assert result["matched"] == len(names.split()) and not result["changed"]


def test_a_limit_ends_the_search(ctx: Any, place: Path) -> None:
    assert perform(Find(paths=[str(place)], recurse=True, limit=2), ctx)["matched"] == 2


def test_a_missing_folder_is_skipped_with_a_warning(ctx: Any, folder: Path) -> None:
    result = perform(Find(paths=[str(folder / "gone")]), ctx)
    assert result["matched"] == 0 and str(folder / "gone") in result["skipped_paths"]
    assert "gone" in ctx.warnings[0]


def test_an_age_that_cannot_be_read_is_said(ctx: Any, folder: Path) -> None:
    with pytest.raises(Failed, match="age: soon"):
        perform(Find(paths=[str(folder)], age="soon"), ctx)
