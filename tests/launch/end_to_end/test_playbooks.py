"""The playbooks that tell a whole story: everything is made, it trains, a second run has nothing to
train, and nothing is left.

The stories on CPU machines and on Trainium are in test_rehearse.py, with their guides' own
profiles.

One sandbox is shared: each test leaves its cloud and its cluster as it found them.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.kube.test_all_roles import everything
from tests.support import runner
from tests.support.kube.module_stage import Api

PATIENCE_SECONDS = 600
STEPS = 4
SETTINGS = (f"train.steps={STEPS}", "train.log.every=1", "train.evaluate.batches=1")
# What a profile needs to learn something in so few steps.
LEARNS = {"llama2-7b-smoke": ("train.optimizer.lr=0.02",)}


class Teller:
    """Plays a story on the sandbox, as a user types it."""

    def __init__(self, state: Path) -> None:
        self.state = state

    def invoke(self, *words: object) -> runner.Outcome:
        started = runner.start(
            *words, state=self.state, KUBECONFIG=str(self.state / "config"), OMP_NUM_THREADS="1"
        )
        return runner.finish(started, PATIENCE_SECONDS)

    def play(
        self, name: str, *words: object, settings: tuple[str, ...] = SETTINGS
    ) -> dict[str, Any]:
        """The status of every step; it must end well."""
        given = json.dumps({"train_settings": settings})
        done = self.invoke(
            "play", f"playbooks/{name}.yaml", *words, "--extra-vars", given, "--yes", "--json"
        )
        assert done.code == 0, done.text
        return {
            result["step"].rpartition(" : ")[2]: result["status"] for result in done.data["results"]
        }

    def losses(self, run: str) -> dict[int, float]:
        text = (self.state / "training" / "runs" / run / "metrics.jsonl").read_text()
        return {
            each["step"]: each["loss"]
            for each in map(json.loads, text.splitlines())
            if each.get("loss") is not None
        }

    @property
    def api(self) -> Api:
        return Api(self.state / "sandbox" / "kubeconfig.yaml", "pretend")


@pytest.fixture(scope="module")
def teller(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Teller]:
    made = Teller(tmp_path_factory.mktemp("stories"))
    yield made
    made.invoke("sandbox.down", "--yes")


@pytest.mark.parametrize(
    ("playbook", "inventory", "run"),
    [
        ("train-on-eks-gpu", "eks-gpu", "gpt2-elastic-smoke"),
        ("train-on-eks-llama", "eks-llama", "llama2-7b-smoke"),
    ],
)
def test_a_cluster_is_made_trains_and_goes(
    teller: Teller, playbook: str, inventory: str, run: str
) -> None:
    pytest.importorskip(
        "moto", reason='the pretend AWS needs moto: pip install "playrunner[sandbox]"'
    )
    where = ("--inventory", inventory, "--inventory", "local")
    assert teller.invoke("sandbox.up", "--kube").code == 0
    before = everything(teller.api)

    settings = (*SETTINGS, *LEARNS.get(run, ()))
    first = teller.play(playbook, *where, settings=settings)
    assert (first["training"], first["its finished job"]) == ("changed", "changed")
    assert first["data"] == "changed", "a stand-in of what the profile itself reads is staged"
    losses = teller.losses(run)
    assert sorted(losses) == list(range(1, STEPS + 1)) and losses[STEPS] < losses[1]
    again = teller.play(playbook, *where, settings=settings)
    assert [step for step, status in again.items() if status == "changed"] == []

    gone = teller.invoke(
        "teardown", *where, "--yes", "--with-kept", "--extra-vars", "bucket_empty_on_delete=true"
    )
    assert gone.code == 0, gone.text
    assert teller.invoke("audit", *where).code == 0
    assert everything(teller.api) - before == set()


def test_a_cluster_with_storage_is_made_and_goes(teller: Teller) -> None:
    pytest.importorskip(
        "moto", reason='the pretend AWS needs moto: pip install "playrunner[sandbox]"'
    )
    where = ("--inventory", "eks-gpu", "--inventory", "local")
    assert "changed" in teller.play("eks-with-storage", *where).values()
    gone = teller.invoke("teardown", *where, "--yes", "--with-kept")
    assert gone.code == 0, gone.text


def test_a_run_on_nodes_of_this_machine(teller: Teller) -> None:
    settings = (*SETTINGS, "train.schedule.warmup_steps=1")
    assert teller.play("train-locally", settings=settings)["training"] == "changed"
    losses = teller.losses("gpt2-micro-smoke")
    assert losses[STEPS] < losses[1]
    assert teller.play("train-locally", settings=settings)["training"] == "ok"
