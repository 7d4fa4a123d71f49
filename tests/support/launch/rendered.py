"""What the tests of rendered jobs share: a state folder, and nodes with CPUs."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.launch.rendering import node

ID = "bert-hpzwjhg4"


@pytest.fixture(autouse=True)
def own_state(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(
        "PLAYRUNNER_STATE_HOME", str(tmp_path_factory.getbasetemp() / "cluster-state")
    )


def cpus() -> list[Any]:
    return [node("cpu-a", "m5.large", cpu=2.0), node("cpu-b", "m5.large", cpu=2.0)]
