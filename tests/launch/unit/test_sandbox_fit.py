"""What a profile for GPUs becomes on the sandbox's nodes."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from playrunner.training.ssh.nodes.sandbox_fit import hub_trouble, replacements
from trainer.models import build
from trainer.profile import read_profile
from trainer.validate import check

TEXT = Path("/state/shared/texts/english.txt")


def fitted_to(name: str, nodes: int, cores: int, hub: str = "no network") -> tuple[list[str], str]:
    chosen = list(replacements(read_profile(name), nodes, cores, TEXT, hub))
    return [one for each in chosen for one in each.settings], "\n".join(
        each.text for each in chosen
    )


@pytest.mark.parametrize("cores", [1, 2, 4, 16])
def test_the_micro_model_stays_as_it_is_and_the_batch_comes_out_even(cores: int) -> None:
    settings, _ = fitted_to("gpt2-micro", 2, cores)
    fitted, whole = read_profile("gpt2-micro", settings), read_profile("gpt2-micro")
    assert fitted.train.model == whole.train.model
    assert fitted.train.schedule == whole.train.schedule
    assert fitted.launch.processes_per_node == max(1, min(8, cores // 2))
    check(fitted, 2 * fitted.launch.processes_per_node)
    assert sum(each.numel() for each in build(fitted.train).parameters()) == 52_971_264


def test_each_replacement_is_told_in_one_line() -> None:
    _, told = fitted_to("gpt2-micro", 2, 2, "huggingface.co cannot be reached")
    assert told.splitlines() == [
        "1 process per node in place of 8: this machine has 2 cores for 2 nodes",
        "batch 8 in place of 64: 4 for each process, as in the profile",
        "precision fp32 in place of fp16, which is for GPUs",
        "as many of the 400000 steps as 5 minutes allow, start and end included, each with a line;"
        " how many is said after the first ones",
        "the newest 2 checkpoints are kept",
        "a small English text (Python's own manual) in place of wikitext:"
        " huggingface.co cannot be reached",
    ]


def test_a_data_set_that_can_be_reached_is_used() -> None:
    settings, _ = fitted_to("gpt2-micro", 2, 2, hub="")
    assert not any(each.startswith("train.data") for each in settings)


def test_a_hub_that_does_not_answer_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("datasets")
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{unused.getsockname()[1]}"
        monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)
        monkeypatch.setenv("HF_ENDPOINT", address)
        assert hub_trouble(read_profile("gpt2-micro")).startswith(f"{address} cannot be reached")
    assert hub_trouble(read_profile("gpt2-micro-smoke")) == ""
