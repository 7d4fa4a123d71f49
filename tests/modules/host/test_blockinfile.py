"""host.blockinfile keeps its promises; the table holds what was there, the arguments, and what must
be there then."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from playrunner.hostside.module import Failed
from playrunner.hostside.perform import perform
from playrunner.modules.host.blockinfile import Blockinfile
from tests.support.host.editing import Host, assert_edited_once_and_taken_back

ALPHA = "alpha=1\nbeta=2\ngamma=3\nbeta=4\n"
BEGIN, END = "# BEGIN ANSIBLE MANAGED BLOCK\n", "# END ANSIBLE MANAGED BLOCK\n"
BLOCK = f"{BEGIN}x\n{END}"
HAS_BLOCK = f"top\n{BEGIN}old\n{END}bottom\n"

EDITS: list[tuple[str | None, dict[str, Any], str | None]] = [
    (ALPHA, {"block": "x\ny\n"}, ALPHA + f"{BEGIN}x\ny\n{END}"),
    (ALPHA, {"block": "x\ny"}, ALPHA + f"{BEGIN}x\ny\n{END}"),
    (HAS_BLOCK, {"block": "new"}, f"top\n{BEGIN}new\n{END}bottom\n"),
    (HAS_BLOCK, {"block": "old"}, HAS_BLOCK),
    (HAS_BLOCK, {"block": ""}, "top\nbottom\n"),
    (HAS_BLOCK, {"state": "absent"}, "top\nbottom\n"),
    (ALPHA, {"block": ""}, ALPHA),
    (HAS_BLOCK, {"state": "absent", "block": "zz"}, "top\nbottom\n"),
    ("alpha=1\nbeta=2", {"block": "x"}, f"alpha=1\nbeta=2\n{BLOCK}"),
    ("", {"block": "x"}, f"{BLOCK}"),
    (ALPHA, {"block": "x", "insertbefore": "BOF"}, f"{BLOCK}alpha=1\nbeta=2\ngamma=3\nbeta=4\n"),
    (ALPHA, {"block": "x", "insertafter": "^beta"}, f"{ALPHA}{BLOCK}"),
    (ALPHA, {"block": "x", "insertbefore": "^beta"}, f"alpha=1\nbeta=2\ngamma=3\n{BLOCK}beta=4\n"),
    (ALPHA, {"block": "x", "insertafter": "^nope"}, f"{ALPHA}{BLOCK}"),
    (ALPHA, {"block": "x", "insertbefore": "^nope"}, f"{ALPHA}{BLOCK}"),
    (ALPHA, {"block": "x", "insertafter": "BOF"}, f"{ALPHA}{BLOCK}"),
    (ALPHA, {"block": "x", "insertbefore": "EOF"}, f"{ALPHA}{BLOCK}"),
    (HAS_BLOCK, {"block": "x", "insertafter": "^bottom"}, f"top\n{BLOCK}bottom\n"),
    (ALPHA, {"block": "x", "insertafter": "beta=4"}, f"{ALPHA}{BLOCK}"),
    (
        ALPHA,
        {"block": "x", "marker": "<!-- {mark} it -->"},
        ALPHA + "<!-- BEGIN it -->\nx\n<!-- END it -->\n",
    ),
    (
        ALPHA,
        {"block": "x", "marker": "## {mark}", "marker_begin": "START", "marker_end": "STOP"},
        ALPHA + "## START\nx\n## STOP\n",
    ),
    (f"top\n{BEGIN}old\n", {"block": "x"}, f"top\n{BEGIN}old\n{BEGIN}x\n{END}"),
    (f"top\n{END}old\n{BEGIN}z\n", {"block": "x"}, f"top\n{BLOCK}z\n"),
    (
        f"top\n{BEGIN}old\n{END}bottom\ntop\n{BEGIN}old\n{END}bottom\n",
        {"block": "x"},
        f"top\n{BEGIN}old\n{END}bottom\ntop\n{BEGIN}x\n{END}bottom\n",
    ),
    (f"top\n{END}old\n", {"block": "x"}, f"top\n# END ANSIBLE MANAGED BLOCK\nold\n{BLOCK}"),
    (None, {"block": "", "create": True}, ""),
    (None, {"state": "absent", "create": True}, None),
    (
        ALPHA,
        {"block": "x", "prepend_newline": True, "append_newline": True, "insertafter": "^beta=2"},
        f"alpha=1\nbeta=2\n\n{BLOCK}\ngamma=3\nbeta=4\n",
    ),
    (
        ALPHA,
        {"block": "x", "prepend_newline": True, "append_newline": True},
        f"alpha=1\nbeta=2\ngamma=3\nbeta=4\n\n{BLOCK}",
    ),
    (
        ALPHA,
        {"block": "x", "prepend_newline": True, "append_newline": True, "insertbefore": "BOF"},
        f"{BLOCK}\nalpha=1\nbeta=2\ngamma=3\nbeta=4\n",
    ),
    (
        "a\n\nb\n",
        {"block": "x", "prepend_newline": True, "append_newline": True, "insertafter": "^$"},
        f"a\n\n{BLOCK}\nb\n",
    ),
    (
        "alpha=1\nbeta=2",
        {"block": "x", "append_newline": True, "prepend_newline": True},
        f"alpha=1\nbeta=2\n\n{BLOCK}",
    ),
    (
        HAS_BLOCK,
        {"block": "x", "prepend_newline": True, "append_newline": True},
        f"top\n\n{BLOCK}\nbottom\n",
    ),
    ("alpha=1\r\nbeta=2\r\n", {"block": "x"}, f"alpha=1\r\nbeta=2\r\n{BLOCK}"),
    (
        ALPHA,
        {"block": "x", "insertafter": "(?m)^beta=2\\ngamma.*"},
        f"alpha=1\nbeta=2\ngamma=3\n{BLOCK}beta=4\n",
    ),
    (
        ALPHA,
        {"block": "x", "insertbefore": "(?m)^beta=2\\ngamma.*"},
        f"alpha=1\n{BLOCK}beta=2\ngamma=3\nbeta=4\n",
    ),
    ("a\n", {"block": "x\n\ny\n\n"}, f"a\n{BEGIN}x\n\ny\n\n{END}"),
    (f"  {BEGIN}old\n  {END}", {"block": "x"}, f"  {BEGIN}old\n  {END}{BEGIN}x\n{END}"),
    (
        "a\r\n# BEGIN ANSIBLE MANAGED BLOCK\r\nold\r\n# END ANSIBLE MANAGED BLOCK\r\nb\r\n",
        {"block": "x"},
        f"a\r\n# BEGIN ANSIBLE MANAGED BLOCK\r\nold\r\n# END ANSIBLE MANAGED BLOCK\r\nb\r\n{BLOCK}",
    ),
]


@pytest.mark.parametrize("before, arguments, after", EDITS)
def test_the_file_is_edited_once_and_the_edit_is_taken_back(
    host: Host, folder: Path, before: str | None, arguments: dict[str, Any], after: str | None
) -> None:
    target = folder / "f"
    assert_edited_once_and_taken_back(
        host, target, lambda: Blockinfile(path=str(target), **arguments), before, after
    )


def test_a_missing_file_is_named(ctx: Any, folder: Path) -> None:
    with pytest.raises(Failed, match=f"{folder}/f does not exist"):
        perform(Blockinfile(path=str(folder / "f"), block="x"), ctx)


def test_a_block_that_does_not_validate_changes_nothing(ctx: Any, folder: Path) -> None:
    (folder / "f").write_text(ALPHA)
    with pytest.raises(Failed, match="failed to validate"):
        perform(Blockinfile(path=str(folder / "f"), block="x", validate="false %s"), ctx)
    assert (folder / "f").read_text() == ALPHA
