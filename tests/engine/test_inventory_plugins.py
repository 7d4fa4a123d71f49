"""Inventories made of expressions and tables: the same hosts, groups and variables as Ansible's."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from playrunner.commands.inventory_show import as_data
from playrunner.errors import BadInput
from playrunner.inventory.inventory import Inventory, read_inventory
from playrunner.options import Options
from playrunner.ssh.targets import target_of
from playrunner.variables.asked_inventory import open_inventory
from playrunner.variables.host_memory import RunVariables
from playrunner.variables.scope import Scope
from playrunner.variables.templating import default_templar
from tests.engine.test_inventory import SAMPLES, ansible_says
from tests.support.inventories import (
    Write,
    values,
    write,  # noqa: F401
)

HOSTS = "[web]\nw1 size=big n=3\nw2 size= n=4\n"


def unmarked(value: Any) -> Any:
    """Ansible marks text that a template may not be made of; it is the same text."""
    if isinstance(value, dict):
        if list(value) == ["__ansible_unsafe"]:
            return value["__ansible_unsafe"]
        return {key: unmarked(inner) for key, inner in value.items()}
    return [unmarked(inner) for inner in value] if isinstance(value, list) else value


@pytest.mark.parametrize(
    "sources",
    [["constructed"], ["constructed/a.ini", "constructed/c.yaml"], ["tables.toml"]],
    ids=" ".join,
)
def test_plugins_and_tables_read_as_ansible_reads_them(sources: list[str], tmp_path: Path) -> None:
    paths = [str(SAMPLES / source) for source in sources]
    assert as_data(read_inventory(paths)) == unmarked(ansible_says(paths, tmp_path))


def constructed(write: Write, text: str, hosts: str = HOSTS) -> Inventory:
    sources = [write("a.ini", hosts), write("b.yaml", f"plugin: constructed\n{text}")]
    return read_inventory(sources)


def test_strict_names_the_line_and_the_host(write: Write) -> None:
    with pytest.raises(BadInput, match=r"b.yaml:4: x of host w1: .*nothing.* is undefined"):
        constructed(write, "strict: true\ncompose:\n  x: nothing\n")


def test_without_strict_what_cannot_be_computed_is_left_out(write: Write) -> None:
    inventory = constructed(write, "compose:\n  x: nothing\n  y: n + 1\n")
    assert values(inventory, "w1") == {"size": "big", "n": 3, "y": 4}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("compos: {x: y}", r'b.yaml:2: .* has no option "compos"; did you mean "compose"\?'),
        ("keyed_groups: [{keys: n}]", r'an entry of keyed_groups has no "keys"'),
        ("keyed_groups: [{key: n}]", r"must be text, a list or a mapping"),
        ("keyed_groups: {key: size}", r"keyed_groups is a list of mappings"),
        ("compose: [x]", r"compose is a mapping"),
        ("strict: perhaps", r"strict is yes or no, not 'perhaps'"),
    ],
)
def test_wrong_options_are_refused_by_line(write: Write, text: str, message: str) -> None:
    with pytest.raises(BadInput, match=message):
        constructed(write, text + ("" if "strict" in text else "\nstrict: true"))


def test_extra_variables_are_seen_where_the_file_says_so(write: Write) -> None:
    hosts = write("a.ini", HOSTS)
    plugin = write("b.yaml", "plugin: constructed\nuse_extra_vars: true\ncompose: {x: given ~ n}\n")
    options = Options((str(hosts), str(plugin)), extra_vars=("given=g",))
    assert values(open_inventory(options), "w1")["x"] == "g3"
    plugin.write_text("plugin: constructed\ncompose: {x: given ~ n}\n")
    assert "x" not in values(open_inventory(options), "w1")


def test_a_file_may_be_encrypted_or_have_no_ending(write: Write) -> None:
    sources = [write("a.ini", HOSTS), write("groups", "plugin: constructed\ngroups: {g: n == 4}\n")]
    assert read_inventory(sources).groups["g"] == ("w2",)


# What is authored, and what is data


def connection(inventory: Inventory, host: str) -> Any:
    return target_of(Scope(RunVariables(inventory, default_templar, {}, {}), host))


def test_settings_composed_of_authored_text_hold(write: Write) -> None:
    text = (
        "compose:\n  ansible_connection: \"'local'\"\n  ansible_python_interpreter: \"'/p/' ~ n\"\n"
    )
    target = connection(constructed(write, text), "w1")
    assert (target.kind, target.python) == ("local", "/p/3")


def test_settings_composed_of_a_lookup_of_a_file_do_not_become_templates(
    write: Write,
) -> None:
    write("secret", "{{ lookup('pipe', 'touch /nowhere') }}")
    inventory = constructed(write, "compose:\n  x: lookup('file', 'secret')\n")
    scope = Scope(RunVariables(inventory, default_templar, {}, {}), "w1")
    assert scope.lookup("x") == "{{ lookup('pipe', 'touch /nowhere') }}"
