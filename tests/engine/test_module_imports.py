"""What modules in Python import on a host: once for all of them, and each has it to itself."""

from __future__ import annotations

import ast

import pytest

from playrunner.plugins import early_imports
from tests.support.runner import Stage, beside

MODULE = """
from ansible.module_utils.basic import AnsibleModule
import os
import shared_counter
module = AnsibleModule(argument_spec={})
shared_counter.value += 1
module.exit_json(value=shared_counter.value, text=shared_counter.TEXT, pid=os.getpid())
"""
PACKAGE = """
import os
value, TEXT = 0, {text!r}
open({log!r}, 'a').write('%d\\n' % os.getpid())
"""


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("import a, b.c as d", [("a", ()), ("b.c", ())]),
        ("from a.b import c, d", [("a.b", ("c", "d"))]),
        ("from a import *", [("a", ())]),
        ("try:\n  import a\nexcept ImportError:\n  import b", [("a", ()), ("b", ())]),
        ("def f():\n  import a", []),
        ("class A:\n  import a", [("a", ())]),
        ("from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n  import a",
         [("typing", ("TYPE_CHECKING",))]),
    ],
)  # fmt: skip
def test_the_imports_of_a_file_are_those_that_run_with_it(
    text: str, found: list[early_imports.Import]
) -> None:
    assert early_imports.imports_of(ast.parse(text), "m", False) == found


def test_files_of_the_module_itself_are_followed_and_only_from_where_it_starts() -> None:
    base = "ansible_collections.a.b.plugins"
    texts = {
        f"{base}.modules.m": "import first\nfrom ..module_utils.near import x\nimport last",
        f"{base}.module_utils.near": "from . import far\nimport json",
        f"{base}.module_utils.far": "import yaml",
        f"{base}.module_utils.aside": "import heavy",
    }
    files = {
        name: early_imports.imports_of(ast.parse(text), name, False) for name, text in texts.items()
    }
    names = [name for name, _ in early_imports.foreign(files, f"{base}.modules.m")]
    assert names == ["first", "yaml", "json", "last"]


def test_a_package_is_imported_once_and_each_module_has_it_as_it_was(stage: Stage) -> None:
    packages, log = stage.folder / "site-packages", stage.folder / "imported"
    packages.mkdir()
    package = packages / "shared_counter.py"
    package.write_text(PACKAGE.format(text="old", log=str(log)))
    beside(stage, "library/counts.py", MODULE)
    newer = stage.folder / "newer.py"
    newer.write_text(PACKAGE.format(text="a newer text", log=str(log)))
    done = stage.play(
        f"""
- hosts: localhost
  gather_facts: false
  tasks:
    - {{name: first, counts: }}
    - {{name: second, counts: }}
    - {{name: upgrade, command: "mv {newer} {package}"}}
    - {{name: third, counts: }}
""",
        PYTHONPATH=str(packages),
    )
    assert done.code == 0, done.text
    first, second, third = (
        done.result("localhost", name)["values"] for name in ("first", "second", "third")
    )
    assert [first["value"], second["value"], third["value"]] == [1, 1, 1]
    assert [first["text"], second["text"], third["text"]] == ["old", "old", "a newer text"]
    imported = log.read_text().split()
    assert len(imported) == 2
    assert not set(imported) & {str(result["pid"]) for result in (first, second, third)}
