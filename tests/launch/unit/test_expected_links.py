"""What an inventory expects of the links between nodes."""

from __future__ import annotations

from pathlib import Path

import pytest

from playrunner.errors import BadInput
from playrunner.inventory.inventory import read_inventory
from playrunner.ssh.fleet import Fleet
from playrunner.training.ssh.network.expected import expected_links


def fleet(folder: Path, variables: str) -> Fleet:
    file = folder / "inventory.yaml"
    file.write_text(f"all: {{hosts: {{node1: {{}}}}, vars: {{{variables}}}}}\n")
    return Fleet(read_inventory([str(file)]))


@pytest.mark.parametrize(
    ("variables", "text"),
    [
        ("", ","),
        ("train_expected_gbps: 25", "25,"),
        ('train_expected_gbps: "12.5", train_expected_latency_us: 80', "12.5,80"),
    ],
)
def test_ranks_are_told_what_the_inventory_expects(
    tmp_path: Path, variables: str, text: str
) -> None:
    with fleet(tmp_path, variables) as nodes:
        assert expected_links(nodes, "node1").text == text


def test_what_is_no_number_is_refused(tmp_path: Path) -> None:
    with fleet(tmp_path, "train_expected_gbps: fast") as nodes, pytest.raises(BadInput) as refused:
        expected_links(nodes, "node1")
    assert str(refused.value) == "train_expected_gbps of node1 is 'fast', not a number"
