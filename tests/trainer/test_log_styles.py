"""Console lines that the guides' parsers read."""

from __future__ import annotations

import ast
import re

from trainer.loop.log_styles import evaluated, line, resuming, saving
from trainer.profile import read_profile

RECORD = {
    "step": 150,
    "loss": 6.59109,
    "lr": 3.5377e-4,
    "grad_norm": 1.25,
    "tokens_per_second": 1000.0,
    "samples_per_second": 463.86,
    "epoch": 1.25,
    "skipped": 17,
    "mean_loss": 7.0,
    "samples": 60000,
    "activations/layer0_attention_weight_max": 6.23,
}


def text(profile: str, world_size: int = 4) -> str:
    return line(read_profile(profile).train, RECORD, world_size)


def test_fsdp() -> None:
    found = re.search(
        r"Batch (\d+) Loss: ([\d.]+), Speed: ([\d.]+) samples/sec, lr: ([\d.]+)$", text("llama2-7b")
    )
    assert found and found.groups() == ("149", "6.59109", "463.86", "0.000354")
    assert (
        evaluated(read_profile("llama2-7b").train, 150, {"eval_loss": 5.5})
        == "Batch 149 Validation loss: 5.50000"
    )


def test_bert() -> None:
    pattern = (
        r"^LOG .+ - \((\d+), (\d+)\) step_loss : ([\d.]+) learning_rate : (\S+) throughput :"
        r" ([\d.]+) grad-norm : "
    )
    found = re.search(pattern, text("bert-large"))
    assert found and found.groups() == ("1", "150", "6.5911", "3.54e-04", "463.86")


def test_mistral() -> None:
    first, second = text("gpt2-micro").splitlines()
    shown = ast.literal_eval(first)
    assert (shown["loss"], shown["epoch"], shown["activations/layer0_attention_weight_max"]) == (
        6.5911,
        1.25,
        6.23,
    )
    assert re.search(
        r"\[Rank 0\] step=150, skipped=17, lr=\[.+\], mom=\[.+\].* SamplesPerSec=463\.86", second
    )


def test_elastic() -> None:
    assert re.search(
        r"Last_loss=6\.59, Avg_cum_loss=7\.00, CLM_loss=6\.59, Avg_cum_CLM=7\.00",
        text("gpt2-elastic"),
    )
    train = read_profile("gpt2-elastic").train
    assert saving(train, 1.25, 150) == "---saving checkpoint at epoch:1 and iteration: 150"
    assert resuming(train, 1.25, 150, "x") == "---Resuming from epoch: 1 and iteration: 150"


def test_cpu() -> None:
    assert re.search(
        r"World size: 4 Global rank: 0, local rank 0 loss: +6\.591090 \[15000/60000\]",
        text("mnist-mlp"),
    )
    said = evaluated(read_profile("mnist-mlp").train, 1, {"eval_loss": 0.3, "eval_accuracy": 0.912})
    assert re.search(r"Accuracy: 91\.2%, Avg loss: +0\.300000", said)
