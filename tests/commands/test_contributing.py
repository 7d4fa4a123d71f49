"""CONTRIBUTING.md, done as it says in a copy of the checkout: a module and a role."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from tests.support.contributing import Copy
from tests.support.runner import REPOSITORY

BROAD = ("Exception", "BaseException")
MAY_BE_BROAD = re.compile(r"except\s*(:|Exception|BaseException)")


@pytest.fixture
def copy(tmp_path: Path) -> Copy:
    return Copy(tmp_path)


def test_a_module_is_one_file_and_its_test(copy: Copy) -> None:
    _, test = copy.follow("Add a module")
    shown = copy.playrunner("modules.show", "host.note")
    assert shown.code == 0 and "its only line" in shown.out, shown.text
    words = ("run", "localhost", "--module", "note", "--args", f"path={copy.folder}/n text=hello")
    written = copy.playrunner(*words, "--json")
    assert written.code == 0 and written.counts("localhost")["changed"] == 1, written.text
    assert (copy.folder / "n").read_text() == "hello\n"
    assert copy.playrunner(*words, "--json").counts("localhost")["changed"] == 0
    tested = copy.python("-m", "pytest", "-q", "-p", "no:cacheprovider", test)
    assert tested.code == 0, tested.text


def test_a_role_is_a_folder_with_verbs_of_its_own(copy: Copy) -> None:
    copy.follow("Add a role")
    file = copy.folder / "motd"
    flags = ("--extra-vars", f"motd_file={file}", "--json")
    assert copy.playrunner("motd.check", *flags).counts("localhost")["changed"] == 1
    assert not file.exists()
    assert copy.playrunner("motd.create", *flags).counts("localhost")["changed"] == 1
    assert file.read_text() == "Welcome.\n"
    assert copy.playrunner("motd.create", *flags).counts("localhost")["changed"] == 0


def test_a_broad_catch_gives_its_reason() -> None:
    texts = {
        file: file.read_text()
        for folder in ("playrunner", "trainer", "roles")
        for file in sorted((REPOSITORY / folder).rglob("*.py"))
    }
    broad = [
        (file, handler)
        for file, text in texts.items()
        if MAY_BE_BROAD.search(text)  # parsing all of them takes seconds
        for handler in ast.walk(ast.parse(text))
        if isinstance(handler, ast.ExceptHandler) and _is_broad(handler)
    ]
    assert broad, "none of the files was read"
    assert [
        f"{file.relative_to(REPOSITORY)}:{handler.lineno}"
        for file, handler in broad
        if not _explained(texts[file].splitlines(), handler)
    ] == []


def _is_broad(handler: ast.ExceptHandler) -> bool:
    return handler.type is None or (isinstance(handler.type, ast.Name) and handler.type.id in BROAD)


def _explained(lines: list[str], handler: ast.ExceptHandler) -> bool:
    """By a comment on its line or the one before; one that cleans up and re-raises needs none."""
    last = handler.body[-1]
    cleans_up = isinstance(last, ast.Raise) and last.exc is None
    return cleans_up or "#" in lines[handler.lineno - 1] or "#" in lines[handler.lineno - 2]
