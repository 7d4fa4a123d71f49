"""strategy neuron on a stand-in of torch-xla that runs on the CPU and records the calls."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.trainer.launching import ROOT, launch, losses

_STAND_IN = {
    "torch_neuronx/__init__.py": "",
    "torch_xla/__init__.py": """
import torch
CALLS, GROUPS = [], []
def device(): return torch.device("cpu")
def sync(): CALLS.append("sync")
class autocast(torch.autocast):
    def __init__(self, kind, dtype=None):
        CALLS.append(f"autocast {dtype}")
        super().__init__(kind, dtype=dtype)
torch.autocast = autocast
""",
    "torch_xla/core/__init__.py": "",
    "torch_xla/core/xla_model.py": """
import torch
import torch_xla
REDUCE_SUM = "sum"
def all_reduce(kind, tensors):
    torch_xla.CALLS.append(f"all_reduce {kind} {len(tensors) > 0}")
    for group in torch_xla.GROUPS:
        for tensor in tensors:
            group.allreduce([tensor]).wait()
""",
    "torch_xla/distributed/__init__.py": "",
    "torch_xla/distributed/xla_backend.py": """
import torch.distributed as dist
import torch_xla
def create(store, rank, size, timeout):
    print(f"xla: rank {rank} of {size} has joined, beside {dist.get_backend()}", flush=True)
    torch_xla.GROUPS.append(dist.ProcessGroupGloo(store, rank, size, timeout))
    return torch_xla.GROUPS[-1]
dist.Backend.register_backend("xla", create, devices=["xla"])
""",
}
_RUN = """
import sys
from trainer.__main__ import main
code = main(sys.argv[1:])
import torch_xla
print(*torch_xla.CALLS, sep="\\n")
sys.exit(code)
"""


def _write_stand_in(folder: Path) -> None:
    for name, text in _STAND_IN.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)


def test_bf16_is_autocast_and_gradients_are_summed_once_per_step(tmp_path: Path) -> None:
    _write_stand_in(tmp_path)
    settings = ("strategy.name=neuron", "precision=bf16", "steps=2", "schedule.warmup_steps=1")
    words = [word for each in settings for word in ("--set", f"train.{each}")]
    output = str(tmp_path / "run")
    done = subprocess.run(
        [sys.executable, "-c", _RUN, "--profile", "bert-large-smoke", "--output", output, *words],
        env={**os.environ, "PYTHONPATH": f"{tmp_path}:{Path(__file__).parents[2]}"},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    # Two micro-batches a step: each forward pass is autocast, each graph is run, gradients follow.
    micro = ["autocast torch.bfloat16", "sync"]
    step = [*micro, *micro, "all_reduce sum True", "sync"]
    calls = [each for each in done.stdout.splitlines() if each.split()[0] in str(step)]
    assert calls[: 2 * len(step)] == step * 2


@pytest.mark.processes
def test_every_rank_joins_an_xla_group_over_which_gradients_are_summed(tmp_path: Path) -> None:
    """As AWS's own training scripts join; the run's own messages stay with gloo."""
    _write_stand_in(tmp_path)
    settings = ("train.steps=4", "train.log.every=1")
    where = {"PYTHONPATH": f"{tmp_path}:{ROOT}"}
    neuron = launch(
        "bert-large-smoke",
        tmp_path / "neuron",
        *settings,
        "train.strategy.name=neuron",
        processes=2,
        environment=where,
    )
    assert neuron.code == 0, neuron.text
    for rank in range(2):
        assert f"xla: rank {rank} of 2 has joined, beside gloo" in neuron.text
    alone = launch("bert-large-smoke", tmp_path / "ddp", *settings)
    assert alone.code == 0, alone.text
    assert losses(tmp_path / "neuron") == pytest.approx(losses(tmp_path / "ddp"), rel=1e-4)
