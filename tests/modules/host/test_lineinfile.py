"""host.lineinfile keeps its promises; the table holds what was there, the arguments, and what must
be there then."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from playrunner.hostside.module import Failed
from playrunner.hostside.perform import perform, restore
from playrunner.modules.host.lineinfile import Lineinfile
from tests.support.host.editing import Host, assert_edited_once_and_taken_back

ALPHA = "alpha=1\nbeta=2\ngamma=3\nbeta=4\n"

EDITS: list[tuple[str | None, dict[str, Any], str | None]] = [
    (ALPHA, {"line": "new=1"}, ALPHA + "new=1\n"),
    (ALPHA, {"line": "beta=2"}, ALPHA),
    (ALPHA, {"regexp": "^beta=", "line": "beta=9"}, "alpha=1\nbeta=2\ngamma=3\nbeta=9\n"),
    (
        ALPHA,
        {"regexp": "^beta=", "line": "beta=9", "firstmatch": True},
        "alpha=1\nbeta=9\ngamma=3\nbeta=4\n",
    ),
    (ALPHA, {"regexp": "^zeta=", "line": "zeta=9"}, ALPHA + "zeta=9\n"),
    (ALPHA, {"regexp": "^zeta=", "line": "zeta=9", "insertafter": "^beta"}, ALPHA + "zeta=9\n"),
    (
        ALPHA,
        {"regexp": "^zeta=", "line": "zeta=9", "insertafter": "^beta", "firstmatch": True},
        "alpha=1\nbeta=2\nzeta=9\ngamma=3\nbeta=4\n",
    ),
    (
        ALPHA,
        {"regexp": "^zeta=", "line": "zeta=9", "insertbefore": "^beta"},
        "alpha=1\nbeta=2\ngamma=3\nzeta=9\nbeta=4\n",
    ),
    (
        ALPHA,
        {"line": "zeta=9", "insertbefore": "^beta", "firstmatch": True},
        "alpha=1\nzeta=9\nbeta=2\ngamma=3\nbeta=4\n",
    ),
    (ALPHA, {"line": "z", "insertbefore": "BOF"}, "z\nalpha=1\nbeta=2\ngamma=3\nbeta=4\n"),
    (ALPHA, {"line": "z", "insertafter": "EOF"}, ALPHA + "z\n"),
    (ALPHA, {"line": "z", "insertafter": "BOF"}, "z\nalpha=1\nbeta=2\ngamma=3\nbeta=4\n"),
    (ALPHA, {"line": "z", "insertafter": "^nope"}, ALPHA + "z\n"),
    (ALPHA, {"line": "z", "insertbefore": "^nope"}, ALPHA + "z\n"),
    (ALPHA, {"line": "z", "insertafter": "beta=4"}, ALPHA + "z\n"),
    ("alpha=1\nbeta=2", {"line": "z", "insertafter": "^alpha"}, "alpha=1\nz\nbeta=2"),
    (ALPHA, {"line": "alpha=1", "insertbefore": "^beta"}, ALPHA),
    (ALPHA, {"line": "alpha=1", "insertafter": "^gamma"}, ALPHA),
    (ALPHA, {"line": "gamma=3", "insertafter": "^beta=2", "regexp": "^nope"}, ALPHA),
    ("alpha=1\nbeta=2", {"line": "z"}, "alpha=1\nbeta=2\nz\n"),
    ("alpha=1\nbeta=2", {"line": "beta=2"}, "alpha=1\nbeta=2\n"),
    ("alpha=1\nbeta=2", {"line": "beta=2", "regexp": "^beta"}, "alpha=1\nbeta=2\n"),
    ("alpha=1\nbeta=2", {"line": "beta=3", "regexp": "^beta"}, "alpha=1\nbeta=3\n"),
    ("alpha=1\r\nbeta=2\r\n", {"line": "beta=2"}, "alpha=1\r\nbeta=2\n"),
    ("alpha=1\r\nbeta=2\r\n", {"line": "beta=2", "regexp": "^beta"}, "alpha=1\r\nbeta=2\n"),
    ("alpha=1\r\nbeta=2\r\n", {"line": "beta=3", "regexp": "^beta="}, "alpha=1\r\nbeta=3\n"),
    ("alpha=1\r\nbeta=2\r\n", {"line": "z"}, "alpha=1\r\nbeta=2\r\nz\n"),
    ("", {"line": "z"}, "z\n"),
    ("", {"line": "z", "insertbefore": "BOF"}, "z\n"),
    (ALPHA, {"line": ""}, ALPHA + "\n"),
    (ALPHA, {"regexp": "^zeta=(.*)$", "line": "\\1", "backrefs": True}, ALPHA),
    (ALPHA, {"regexp": "^(alpha)=(.*)$", "line": "\\1=\\2", "backrefs": True}, ALPHA),
    (
        ALPHA,
        {"regexp": "^zeta=(.*)$", "line": "\\1", "backrefs": True, "insertafter": "^beta"},
        ALPHA,
    ),
    (
        "alpha=1\r\nbeta=2\r\n",
        {"regexp": "^beta=(.*)$", "line": "b=\\1", "backrefs": True},
        "alpha=1\r\nb=2\r\n",
    ),
    (ALPHA, {"search_string": "[x]", "line": "b!"}, ALPHA + "b!\n"),
    (ALPHA, {"state": "absent", "line": "beta=2"}, "alpha=1\ngamma=3\nbeta=4\n"),
    (ALPHA, {"state": "absent", "regexp": "^beta"}, "alpha=1\ngamma=3\n"),
    (ALPHA, {"state": "absent", "search_string": "beta"}, "alpha=1\ngamma=3\n"),
    (ALPHA, {"state": "absent", "line": "nope"}, ALPHA),
    ("alpha=1\r\nbeta=2\r\n", {"state": "absent", "line": "beta=2"}, "alpha=1\r\n"),
    (None, {"state": "absent", "line": "x"}, None),
    (ALPHA, {"state": "absent", "regexp": "^beta", "line": "alpha=1"}, "alpha=1\ngamma=3\n"),
    ("x\n", {"state": "absent", "line": "x"}, ""),
    (ALPHA, {"line": "zz"}, ALPHA + "zz\n"),
    ("hé=1\n", {"line": "hé=2", "regexp": "^hé="}, "hé=2\n"),
    (ALPHA, {"regexp": "^gamma=", "line": "alpha=1"}, "alpha=1\nbeta=2\nalpha=1\nbeta=4\n"),
    ("a\n\n\n", {"line": "z"}, "a\n\n\nz\n"),
    (
        ALPHA,
        {"regexp": "^beta=", "line": "beta=7", "insertafter": "^alpha"},
        "alpha=1\nbeta=2\ngamma=3\nbeta=7\n",
    ),
    ("alpha=1\nbeta=2", {"state": "absent", "regexp": "^beta"}, "alpha=1\n"),
    (ALPHA, {"line": "z", "insertbefore": "EOF"}, ALPHA + "z\n"),
    ("a\fb\nc\n", {"line": "b"}, "a\fb\nc\nb\n"),
    (ALPHA, {"line": "  x  "}, ALPHA + "  x  \n"),
]


@pytest.mark.parametrize("before, arguments, after", EDITS)
def test_the_file_is_edited_once_and_the_edit_is_taken_back(
    host: Host, folder: Path, before: str | None, arguments: dict[str, Any], after: str | None
) -> None:
    target = folder / "f"
    assert_edited_once_and_taken_back(
        host, target, lambda: Lineinfile(path=str(target), **arguments), before, after
    )


def test_a_line_after_the_last_one_begins_on_a_line_of_its_own(ctx: Any, folder: Path) -> None:
    (folder / "f").write_text("alpha\nbeta")
    perform(Lineinfile(path=str(folder / "f"), line="z", insertafter="^beta"), ctx)
    assert (folder / "f").read_text() == "alpha\nbeta\nz\n"


def test_bytes_that_are_no_text_survive(ctx: Any, folder: Path) -> None:
    (folder / "f").write_bytes(b"h\xe9=1\n")
    perform(Lineinfile(path=str(folder / "f"), line="z"), ctx)
    assert (folder / "f").read_bytes() == b"h\xe9=1\nz\n"


def test_mode_and_owner_stay_unless_asked_for(ctx: Any, folder: Path) -> None:
    (folder / "f").write_text(ALPHA)
    (folder / "f").chmod(0o640)
    perform(Lineinfile(path=str(folder / "f"), line="z"), ctx)
    assert (folder / "f").stat().st_mode & 0o777 == 0o640
    result = perform(Lineinfile(path=str(folder / "f"), line="z", mode="0600"), ctx)
    assert result["changed"] and (folder / "f").stat().st_mode & 0o777 == 0o600


def test_a_link_stays_and_its_file_is_edited(ctx: Any, folder: Path) -> None:
    (folder / "f").write_text("")
    (folder / "l").symlink_to("f")
    perform(Lineinfile(path=str(folder / "l"), line="z"), ctx)
    assert (folder / "l").is_symlink() and (folder / "f").read_text() == "z\n"


def test_a_backup_is_kept_only_when_something_changes(ctx: Any, folder: Path) -> None:
    (folder / "f").write_text(ALPHA)
    assert (
        perform(Lineinfile(path=str(folder / "f"), line="alpha=1", backup=True), ctx)["backup"]
        == ""
    )
    kept = perform(Lineinfile(path=str(folder / "f"), line="z", backup=True), ctx)["backup"]
    assert Path(kept).read_text() == ALPHA


def test_missing_folders_are_made_with_the_file_and_go_with_it(host: Host, folder: Path) -> None:
    step = {"path": str(folder / "a/b/f"), "line": "z", "create": True}
    first = perform(Lineinfile(**step), host())
    assert (folder / "a/b/f").read_text() == "z\n"
    restore(Lineinfile(**step), first["diff"]["before"], host())
    assert not (folder / "a").exists()


@pytest.mark.parametrize(
    "arguments, words",
    [
        ({}, "line is required"),
        ({"line": "x", "backrefs": True}, "regexp is required"),
        ({"state": "absent"}, "one of line"),
        ({"line": "x", "regexp": "("}, "regexp is not"),
        ({"line": "x", "regexp": "a", "search_string": "a"}, "mutually exclusive"),
        ({"line": "x", "insertafter": "a", "insertbefore": "b"}, "mutually exclusive"),
        ({"line": "x", "validate": "false %s"}, "failed to validate"),
    ],
)
def test_what_cannot_be_done_is_said(
    ctx: Any, folder: Path, arguments: dict[str, Any], words: str
) -> None:
    (folder / "f").write_text(ALPHA)
    with pytest.raises(Failed, match=words):
        perform(Lineinfile(path=str(folder / "f"), **arguments), ctx)
    assert (folder / "f").read_text() == ALPHA


def test_a_missing_file_is_named(ctx: Any, folder: Path) -> None:
    with pytest.raises(Failed, match=f"Destination {folder}/f does not exist"):
        perform(Lineinfile(path=str(folder / "f"), line="x"), ctx)
