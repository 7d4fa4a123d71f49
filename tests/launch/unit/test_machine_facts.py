"""What is known of instance types, their cards, and the versions of libraries."""

from __future__ import annotations

from dataclasses import replace

import pytest

from playrunner.training.environment.machine_facts import MachineFacts, instance, version
from tests.support.launch.environment import P4D, fabric

# The instance table


@pytest.mark.parametrize(
    ("name", "accelerators", "efa"),
    [
        ("g4dn.xlarge", 1, 0),
        ("g4dn.8xlarge", 1, 1),
        ("g4dn.12xlarge", 4, 1),
        ("g5.xlarge", 1, 0),
        ("g5.8xlarge", 1, 1),
        ("g5.12xlarge", 4, 1),
        ("g5.48xlarge", 8, 1),
        ("p3dn.24xlarge", 8, 1),
        ("p4d.24xlarge", 8, 4),
        ("p4de.24xlarge", 8, 4),
        ("p5.48xlarge", 8, 32),
        ("p5en.48xlarge", 8, 16),
        ("trn1.32xlarge", 16, 8),
        ("trn1n.32xlarge", 16, 16),
        ("trn2.48xlarge", 16, 16),
    ],
)
def test_the_table_knows_accelerators_and_cards(name: str, accelerators: int, efa: int) -> None:
    found = instance(name)
    assert found is not None
    assert (found.accelerators, found.efa) == (accelerators, efa)


def test_an_instance_that_is_not_in_the_table_is_unknown_not_without_cards() -> None:
    assert instance("x9.huge") is None
    assert MachineFacts(instance_type="x9.huge").efa is None
    assert MachineFacts(instance_type="x9.huge", efa_count=2).efa == 2


def test_the_inventory_knows_better_than_the_table_how_many_cards_there_are() -> None:
    assert replace(P4D, efa_count=0).efa == 0
    assert fabric(replace(P4D, efa_count=0)) == {}


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("v1.7.3-aws", (1, 7, 3)),
        ("1.20.0amzn1.0", (1, 20, 0)),
        ("2.20.3-1+cuda12.4", (2, 20, 3)),
        ("", None),
    ],
)
def test_versions_are_read_in_every_spelling(text: str, numbers: tuple[int, ...] | None) -> None:
    assert version(text) == numbers
