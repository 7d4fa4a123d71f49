"""A newcomer's launcher and model, added as CONTRIBUTING.md says in a copy of the checkout, and
trained with on nodes of this machine."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.contributing import Copy


@pytest.fixture
def copy(tmp_path: Path) -> Iterator[Copy]:
    copy = Copy(tmp_path)
    yield copy
    assert copy.playrunner("sandbox.down", "--yes").code == 0


@pytest.mark.processes
def test_a_new_launcher_trains_on_two_nodes(copy: Copy) -> None:
    copy.follow("Add a launcher")
    helped = copy.playrunner("train.launch", "--help")
    assert "shell" in helped.out
    words = ("--profile", "gpt2-micro-smoke", "--nodes", 2, "--launcher", "shell")
    done = copy.playrunner("train.launch", *words, "--set", "train.steps=12")
    assert done.code == 0, done.text
    assert "is done: loss" in done.text
    stated = copy.playrunner("train.status", "--json")
    assert stated.code == 0 and "finished" in stated.out


@pytest.mark.processes
def test_a_new_model_trains(copy: Copy) -> None:
    copy.follow("Add a model")
    words = ("--profile", "bigram-smoke", "--nodes", 2, "--set", "train.steps=12")
    done = copy.playrunner("train.launch", *words)
    assert done.code == 0, done.text
    assert "is done: loss" in done.text
