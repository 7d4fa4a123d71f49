"""host.template keeps its promises."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from playrunner.hostside.perform import perform
from playrunner.modules.host.template import Template
from tests.support.host.contract import keeps_its_promise, tree_of


def test_rendered_text_is_written_mended_and_taken_back(
    host: Callable[..., Any], folder: Path
) -> None:
    target = folder / "app.conf"
    keeps_its_promise(
        host,
        lambda: Template(src="app.conf.j2", content="port=80\n", dest=str(target), mode="0600"),
        lambda: tree_of(folder),
        disturb=lambda: target.chmod(0o644),
    )


def test_a_folder_keeps_the_templates_name(ctx: Any, folder: Path) -> None:
    assert perform(Template(src="x/app.j2", content="1\n", dest=str(folder)), ctx)["dest"] == str(
        folder / "app.j2"
    )


def test_line_ends_are_as_asked(ctx: Any, folder: Path) -> None:
    perform(
        Template(src="a", content="1\n2\r\n", dest=str(folder / "g"), newline_sequence="\\r\\n"),
        ctx,
    )
    assert (folder / "g").read_bytes() == b"1\r\n2\r\n"
