"""What `invoke inventory.show` has to say."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from playrunner.commands.inventory_show import as_data, as_graph, format_why, host_data, why
from playrunner.errors import BadInput, Place
from playrunner.inventory.inventory import read_inventory

SAMPLES = Path(__file__).parent / "inventories"


def write(folder: Path, text: str) -> Path:
    path = folder / "i.yaml"
    path.write_text(text)
    return path


def test_the_graph_shows_groups_below_groups_and_hosts_once_per_group(tmp_path: Path) -> None:
    text = "a: {children: {b: {hosts: {one: }}}, hosts: {two: }}\nc: {hosts: {one: }}\n"
    inventory = read_inventory([write(tmp_path, text)])
    assert as_graph(inventory).splitlines() == [
        "@all",
        "├─ @ungrouped",
        "├─ @a",
        "│  ├─ @b",
        "│  │  └─ one",
        "│  └─ two",
        "└─ @c",
        "   └─ one",
    ]


def test_secrets_are_hidden_wherever_they_are_shown(tmp_path: Path) -> None:
    inventory = read_inventory(
        [
            write(
                tmp_path,
                """
all:
  vars:
    db_password: hunter2
    ansible_become_pass: hunter2
    ansible_ssh_private_key_file: ~/.ssh/key
    vault: {api_token: hunter2, users: [{name: a, SECRET: hunter2}]}
  hosts: {one: {db_password: hunter2}}
""",
            )
        ]
    )
    shown = host_data(inventory, "one")
    rows = [*why(inventory, None, "db_password"), *why(inventory, "one", "vault")]
    assert "hunter2" not in json.dumps(shown) + json.dumps(as_data(inventory)) + format_why(
        rows
    ) + repr(rows)
    assert shown["db_password"] == "(hidden)"
    assert shown["ansible_ssh_private_key_file"] == "~/.ssh/key"
    assert shown["vault"]["users"] == [{"name": "a", "SECRET": "(hidden)"}]


def test_why_tells_which_line_won_and_what_it_beat() -> None:
    inventory = read_inventory([SAMPLES / "mixed"]).with_adjacent(SAMPLES / "beside_playbook")
    [row] = why(inventory, "node2", "where")
    assert (row.winner.value, row.winner.layer) == ("playbook host", "playbook host_vars/node2")
    assert [(value.value, value.layer) for value in row.beaten] == [
        ("file host", "host node2"),
        ("group_vars gpu", "group_vars/gpu"),
        ("playbook all", "playbook group_vars/all"),
        ("group_vars all", "group_vars/all"),
        ("file gpu", "group gpu"),
        ("file all", "group all"),
    ]
    assert row.beaten[0].place == Place(str(SAMPLES / "mixed/10-base.yaml"), 7)
    where = SAMPLES / "mixed/10-base.yaml"
    assert format_why([row]).splitlines()[1] == f'    beats "file host"  (host node2, {where}:7)'


def test_why_names_hosts_with_the_same_answer_together() -> None:
    inventory = read_inventory([SAMPLES / "mixed"])
    assert len(why(inventory, None, "order")) == 4
    assert format_why(why(inventory, None, "order")).startswith(
        "node1, node2, node3, node6: order = 2  ("
    )


def test_asking_about_an_unknown_host_or_variable_names_the_nearest() -> None:
    inventory = read_inventory([SAMPLES / "mixed"])
    with pytest.raises(BadInput, match='did you mean "node1"'):
        host_data(inventory, "nodd1")
    with pytest.raises(BadInput, match='did you mean "where"'):
        why(inventory, "node1", "wheer")
