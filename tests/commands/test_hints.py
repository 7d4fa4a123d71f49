"""Hints name the program that the user has typed: `invoke` in a checkout, or `playrunner`."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from tests.support.runner import REPOSITORY

TYPED_HINT = re.compile(r"(?<![/\w])invoke (?=[a-z-]+(\.[a-z-]+)?\b)|\sinvoke$")
# The command that the jump host has is called so.
ON_THE_JUMP_HOST = {"roles/jumphost/verbs.py"}

PROGRAMS = {
    "invoke": [sys.executable, "-m", "invoke"],
    "playrunner": [str(Path(sys.executable).with_name("playrunner"))],
    "python -m playrunner": [sys.executable, "-m", "playrunner"],
}
HINTS = {
    "train.status": "no runs; start one with: PROGRAM train.launch",
    "inventory.show --host nowhere": "see them with: PROGRAM inventory.show --graph",
    "play": "see: PROGRAM --help VERB",
}


@pytest.mark.parametrize("typed", PROGRAMS)
def test_a_hint_can_be_typed_as_it_is_printed(typed: str, tmp_path: Path) -> None:
    name = "invoke" if typed == "invoke" else "playrunner"
    try:
        for words, hint in HINTS.items():
            assert hint.replace("PROGRAM", name) in _printed(typed, words, tmp_path), words
    finally:
        _printed(typed, "sandbox.down --yes", tmp_path)


def _printed(typed: str, words: str, state: Path) -> str:
    done = subprocess.run(
        [*PROGRAMS[typed], *words.split()],
        cwd=REPOSITORY,
        env={**os.environ, "PLAYRUNNER_STATE_HOME": str(state), "NO_COLOR": "1"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    return done.stdout + done.stderr


def test_no_text_of_the_product_names_a_program_that_the_user_may_not_have() -> None:
    fixed = [
        f"{file.relative_to(REPOSITORY)}:{line}: {text}"
        for folder in ("playrunner", "roles", "trainer", "inventories")
        for file in sorted((REPOSITORY / folder).rglob("*"))
        if str(file.relative_to(REPOSITORY)) not in ON_THE_JUMP_HOST
        for line, text in _texts(file)
        if TYPED_HINT.search(text)
    ]
    assert fixed == []


def _texts(file: Path) -> Iterator[tuple[int, str]]:
    """What a file may print: the strings of a program, with the docstrings of verbs alone, or the
    values of a document."""
    if file.suffix == ".py":
        tree = ast.parse(file.read_text())
        docstrings = {id(node.body[0].value) for node in ast.walk(tree) if _has_docstring(node)}
        for node in ast.walk(tree):
            text = node.value if isinstance(node, ast.Constant) else None
            if isinstance(text, str) and id(node) not in docstrings:
                yield node.lineno, text
    elif file.suffix == ".yaml":
        for token in yaml.scan(file.read_text()):
            if isinstance(token, yaml.ScalarToken):
                yield token.start_mark.line + 1, token.value


def _has_docstring(node: ast.AST) -> bool:
    """Whether an internal docstring is the node's first statement; a verb's docstring is its
    help."""
    kinds = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    if not isinstance(node, kinds) or ast.get_docstring(node) is None:
        return False
    decorators = [] if isinstance(node, ast.Module) else node.decorator_list
    return not any("verb" in ast.unparse(decorator) for decorator in decorators)
