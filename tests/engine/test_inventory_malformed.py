"""Inventories that cannot be read are refused with file, line and remedy."""

from __future__ import annotations

import pytest

from playrunner.errors import BadInput, Place
from playrunner.inventory.inventory import read_inventory
from tests.support.inventories import (
    Write,
    write,  # noqa: F401
)

# Refusing


@pytest.mark.parametrize(
    ("name", "text", "line", "said"),
    [
        ("i.yaml", "g:\n  host: {a: }\n", 2, 'unknown key "host"; did you mean "hosts"?'),
        (
            "i.yaml",
            "g:\n  hosts:\n    - a\n",
            2,
            'hosts of group "g" must be a mapping, not a list',
        ),
        (
            "i.yaml",
            "g:\n  hosts:\n    a:\n    b: [1]\n",
            4,
            'host "b" must have a mapping of variables',
        ),
        ("i.yaml", "g:\n  hosts:\n    7:\n", 3, "put it in quotes"),
        ("i.yaml", "g: [a]\n", 1, 'group "g" must be a mapping'),
        ("i.yaml", "- a\n", 1, "an inventory is a mapping of groups"),
        (
            "i.yaml",
            "a: {children: {b: }}\nb: {children: {c: }}\nc:\n  children:\n    a:\n",
            5,
            "(c > a > b > c)",
        ),
        ("i.yaml", "a: {children: {a: }}\n", 1, "(a > a)"),
        ("i.yaml", "g:\n  hosts:\n   a:\n  b:\n   c", 4, "unknown key"),
        ("i.yaml", "g: {hosts: {\n 'n[01:100]': }}\n", 2, "starts with 2 digits and ends with 3"),
        ("i.yaml", "g: {hosts: {\n 'n[1:99999999]': }}\n", 2, "the most one range may give"),
        ("i.yaml", "g: {hosts: {\n 'n[1:': }}\n", 2, "bracket without its partner"),
        ("i.yaml", "g:\n  vars: {ansible_group_priority: high}\n", 2, "must be a whole number"),
        ("i.yaml", "plugin: community.general.nmap\n", 1, "executable script"),
        ("i.yaml", "a: {\n", 2, "not valid YAML"),
        ("i.yaml", "$ANSIBLE_VAULT;1.1;AES256\n", 1, "encrypted with vault, and damaged"),
        ("i.ini", "one\ntwo three\n", 2, "expects name=value, got 'three'"),
        ("i.ini", "one\ntwo a='b\n", 2, "no closing quotation"),
        ("i.ini", "\n[g:var]\n", 2, 'did you mean "vars"?'),
        ("i.ini", "[gpu]\na\n[gpuu:vars]\nx=1\n", 3, 'not defined; did you mean "gpu"?'),
        ("i.ini", "[g:children]\n\nnobody\n", 3, "add a [nobody] section"),
        ("i.ini", "[a:children]\nb\n[b:children]\na\n", 4, "the groups form a loop"),
        ("i.ini", "[g]\n[g:vars]\nx\n", 3, "expects name=value, got 'x'"),
        ("i.ini", "[my group]\n", 1, "without spaces"),
        ("i.ini", "[g\n", 1, "is not a section heading"),
        ("i.ini", "n[3:1]\n", 1, "ends before it begins"),
        ("i.ini", "n[a:3]\n", 1, "from number to number"),
        ("i.ini", "all:\n", 1, "meant to be YAML"),
        ("i.toml", "[g\n", 0, "not valid TOML"),
        ("i.toml", "[g]\nhost = 1\n", 0, 'unknown key "host"; did you mean "hosts"'),
        ("i.toml", "[g.hosts]\nn1 = 1\n", 0, "must have a table of variables: n1 = {}"),
        (
            "s.sh",
            "#!/bin/sh\necho first >&2; echo no credentials >&2; exit 3\n",
            0,
            "no credentials",
        ),
        ("s.sh", "#!/bin/sh\necho hello\n", 0, "is not JSON"),
        ("s.sh", "#!/bin/sh\necho '[]'\n", 0, "must be a JSON object"),
        ("s.sh", "#!/no/such/interpreter\n", 0, "check its first line"),
        ("s.sh", '#!/bin/sh\necho \'{"g": {"hosts": "a"}}\'\n', 0, "must be a list of names"),
    ],
)
def test_what_is_malformed_is_refused_with_file_line_and_remedy(
    name: str, text: str, line: int, said: str, write: Write
) -> None:
    path = write(name, text)
    with pytest.raises(BadInput) as refused:
        read_inventory([path])
    assert refused.value.place == Place(str(path), line)
    assert said in refused.value.message


def test_a_script_that_may_not_be_executed_is_refused_with_the_command_that_helps(
    write: Write,
) -> None:
    path = write("s.sh", "#!/bin/sh\necho '{}'\n")
    path.chmod(0o644)
    with pytest.raises(BadInput, match="chmod"):
        read_inventory([path])


def test_a_missing_inventory_is_refused() -> None:
    with pytest.raises(BadInput, match="no such inventory"):
        read_inventory(["nowhere.yaml"])


def test_a_bad_file_of_variables_is_refused_with_its_line(write: Write) -> None:
    inventory = read_inventory([write("i.ini", "[g]\none\n")])
    write("group_vars/g.yml", "- 1\n")
    with pytest.raises(BadInput, match=r"group_vars/g.yml:1: a file of variables is a mapping"):
        read_inventory(inventory.files).variables("one")
