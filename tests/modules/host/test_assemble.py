"""host.assemble keeps its promises."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from playrunner.hostside.module import Failed
from playrunner.hostside.perform import perform
from playrunner.modules.host.assemble import Assemble
from tests.support.host.contract import keeps_its_promise, tree_of


@pytest.fixture
def pieces(folder: Path) -> Path:
    place = folder / "pieces"
    place.mkdir()
    for name, text in (
        ("02", "two"),
        ("01", "one\n"),
        ("03.conf", "three\n"),
        (".hidden", "zero\n"),
    ):
        (place / name).write_text(text)
    return place


def test_pieces_come_in_the_order_of_their_names(
    host: Callable[..., Any], folder: Path, pieces: Path
) -> None:
    keeps_its_promise(
        host,
        lambda: Assemble(src=str(pieces), dest=str(folder / "whole")),
        lambda: tree_of(folder),
        disturb=lambda: (pieces / "01").write_text("one\n") and (folder / "whole").unlink(),
    )
    perform(Assemble(src=str(pieces), dest=str(folder / "whole")), host())
    assert (folder / "whole").read_text() == "zero\none\ntwo\nthree\n"


@pytest.mark.parametrize(
    "arguments, text",
    [
        ({"delimiter": "--", "ignore_hidden": True}, "one\n--\ntwo\n--\nthree\n"),
        ({"regexp": r"^0\d$"}, "one\ntwo"),
        ({"ignore_hidden": True, "header": "H\n", "footer": "F\n"}, "H\none\ntwo\nthree\nF\n"),
    ],
)
def test_what_goes_in_can_be_chosen(
    ctx: Any, folder: Path, pieces: Path, arguments: dict[str, Any], text: str
) -> None:
    perform(Assemble(src=str(pieces), dest=str(folder / "whole"), **arguments), ctx)
    assert (folder / "whole").read_text() == text


def test_a_missing_folder_is_named(ctx: Any, folder: Path) -> None:
    with pytest.raises(Failed, match=r"gone.* does not exist"):
        perform(Assemble(src=str(folder / "gone"), dest=str(folder / "whole")), ctx)
