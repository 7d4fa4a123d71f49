"""host.replace keeps its promises; the table holds what was there, the arguments, and what must be
there then."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from playrunner.hostside.module import Failed
from playrunner.hostside.perform import perform
from playrunner.modules.host.replace import Replace
from tests.support.host.editing import Host, assert_edited_once_and_taken_back

ALPHA = "alpha=1\nbeta=2\ngamma=3\nbeta=4\n"

EDITS: list[tuple[str | None, dict[str, Any], str | None]] = [
    (ALPHA, {"regexp": "^beta=(\\d)", "replace": "b\\1"}, "alpha=1\nb2\ngamma=3\nb4\n"),
    (ALPHA, {"regexp": "nope", "replace": "x"}, ALPHA),
    (ALPHA, {"regexp": "^beta.*\\n"}, "alpha=1\ngamma=3\n"),
    (
        ALPHA,
        {"regexp": "=", "replace": ":", "after": "beta=2\\n"},
        "alpha=1\nbeta=2\ngamma:3\nbeta:4\n",
    ),
    (
        ALPHA,
        {"regexp": "=", "replace": ":", "before": "gamma"},
        "alpha:1\nbeta:2\ngamma=3\nbeta=4\n",
    ),
    (
        ALPHA,
        {"regexp": "=", "replace": ":", "after": "alpha", "before": "gamma"},
        "alpha:1\nbeta:2\ngamma=3\nbeta=4\n",
    ),
    (ALPHA, {"regexp": "=", "replace": ":", "after": "nope"}, ALPHA),
    (ALPHA, {"regexp": "alpha", "replace": "alpha"}, ALPHA),
]


@pytest.mark.parametrize("before, arguments, after", EDITS)
def test_the_file_is_edited_once_and_the_edit_is_taken_back(
    host: Host, folder: Path, before: str | None, arguments: dict[str, Any], after: str | None
) -> None:
    target = folder / "f"
    assert_edited_once_and_taken_back(
        host, target, lambda: Replace(path=str(target), **arguments), before, after
    )


def test_a_missing_file_is_named(ctx: Any, folder: Path) -> None:
    with pytest.raises(Failed, match=f"{folder}/f does not exist"):
        perform(Replace(path=str(folder / "f"), regexp="x"), ctx)


def test_the_number_of_replacements_is_told(ctx: Any, folder: Path) -> None:
    (folder / "f").write_text(ALPHA)
    assert (
        perform(Replace(path=str(folder / "f"), regexp="beta", replace="b"), ctx)["msg"]
        == "2 replacements made"
    )


def test_other_encodings_are_kept(ctx: Any, folder: Path) -> None:
    (folder / "f").write_bytes("h\u00e9=1\n".encode("latin-1"))
    perform(
        Replace(path=str(folder / "f"), regexp="h\u00e9", replace="\u00e9h", encoding="latin-1"),
        ctx,
    )
    assert (folder / "f").read_bytes() == "\u00e9h=1\n".encode("latin-1")


@pytest.mark.parametrize(
    "arguments, words",
    [
        ({"regexp": "("}, "regexp is not"),
        ({"regexp": "a", "replace": r"\9"}, "Unable to process replace"),
    ],
)
def test_a_wrong_pattern_is_said(
    ctx: Any, folder: Path, arguments: dict[str, Any], words: str
) -> None:
    (folder / "f").write_text(ALPHA)
    with pytest.raises(Failed, match=words):
        perform(Replace(path=str(folder / "f"), **arguments), ctx)
