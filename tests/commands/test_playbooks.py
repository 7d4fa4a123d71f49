"""A test runs every playbook of playbooks/ to its end, and its first lines say how to run it."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
import yaml

from tests.support import runner

ROOT = Path(__file__).parents[2]
PLAYBOOKS = sorted(path.name for path in (ROOT / "playbooks").glob("*.yaml"))
# Who runs it.
RUN_BY = {
    "eks-with-storage.yaml": "tests/launch/end_to_end/test_playbooks.py",
    "hello-nodes.yaml": "tests/commands/test_commands.py",
    "nccl-bandwidth.yaml": "tests/launch/end_to_end/test_bandwidth_gate.py",
    "train-locally.yaml": "tests/launch/end_to_end/test_playbooks.py",
    "train-on-eks-cpu.yaml": "tests/launch/end_to_end/test_rehearse.py",
    "train-on-eks-gpu.yaml": "tests/launch/end_to_end/test_playbooks.py",
    "train-on-eks-llama.yaml": "tests/launch/end_to_end/test_playbooks.py",
    "train-on-eks-trainium.yaml": "tests/launch/end_to_end/test_rehearse.py",
    "train-on-gke.yaml": "tests/roles/test_gcp_training.py",
}


def test_every_playbook_is_in_the_table() -> None:
    assert sorted(RUN_BY) == PLAYBOOKS


@pytest.mark.parametrize("playbook", PLAYBOOKS)
def test_a_playbook_is_run_by_the_test_that_the_table_names(playbook: str) -> None:
    assert playbook.removesuffix(".yaml") in (ROOT / RUN_BY[playbook]).read_text()


@pytest.mark.parametrize("playbook", PLAYBOOKS)
def test_a_playbook_begins_with_the_command_that_runs_it(playbook: str) -> None:
    head = [
        line
        for line in (ROOT / "playbooks" / playbook).read_text().splitlines()
        if line.startswith("#")
    ]
    assert any("invoke " in line for line in head)


def test_a_step_may_run_the_runner_itself_on_the_same_inventory(tmp_path: Path) -> None:
    inventory, inner, outer = (
        tmp_path / name for name in ("hosts.ini", "inner.yaml", "outer.yaml")
    )
    inventory.write_text("localhost ansible_connection=local\n")
    inner.write_text(_play({"command": {"cmd": "echo heard"}}))
    words = [sys.executable, "-m", "invoke", "play", str(inner), f"--inventory={inventory}"]
    outer.write_text(_play({"command": {"argv": words, "chdir": str(ROOT)}}))
    done = runner.invoke(
        "play", outer, "--inventory", inventory, "--json", state=tmp_path / "state"
    )
    assert done.code == 0, done.text
    assert done.result("localhost", "it")["status"] == "changed"


def _play(step: dict[str, object]) -> str:
    return yaml.safe_dump(
        [{"hosts": "localhost", "gather_facts": False, "tasks": [{"name": "it", **step}]}]
    )
