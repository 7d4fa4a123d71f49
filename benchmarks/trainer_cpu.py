"""Training on a CPU against the least a person could write: `python benchmarks/trainer_cpu.py
[--rounds 5]`.

Three ratios, each taken in turns in one run: time from process start to the first step, steady
tokens per second on gpt2-micro's shape, and how many times faster data comes than the model takes
it.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

BY_HAND = """
import torch
from torch import nn
import torch.nn.functional as functional
class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.n1, self.n2 = nn.LayerNorm(64), nn.LayerNorm(64)
        self.qkv, self.out = nn.Linear(64, 192), nn.Linear(64, 64)
        self.up, self.down = nn.Linear(64, 256), nn.Linear(256, 64)
    def forward(self, x):
        b, t, c = x.shape
        q, k, v = (y.view(b, t, 2, 32).transpose(1, 2) for y in self.qkv(self.n1(x)).split(c, 2))
        heads = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(heads.transpose(1, 2).reshape(b, t, c))
        return x + self.down(functional.gelu(self.up(self.n2(x)), approximate="tanh"))
tokens, places = nn.Embedding(512, 64), nn.Embedding(64, 64)
model = nn.ModuleList([tokens, places, Block(), Block(), nn.LayerNorm(64)])
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
x = torch.randint(0, 512, (8, 65))
h = tokens(x[:, :-1]) + places.weight
for layer in model[2:]:
    h = layer(h)
functional.cross_entropy((h @ tokens.weight.t()).flatten(0, 1), x[:, 1:].flatten()).backward()
optimizer.step()
"""
ONE_STEP = [
    "train.steps=1",
    "train.schedule.warmup_steps=0",
    "train.checkpoint.every=0",
    "train.data.validation_fraction=0",
    "train.log.every=1",
]
MICRO = [
    "train.device=cpu",
    "train.precision=fp32",
    "train.strategy.name=ddp",
    "train.model.dropout=0.0",
    "train.model.upcast_attention=false",
    "train.batch_size=2",
    "train.device_batch_size=2",
    "train.data.source=synthetic",
    "train.data.validation_fraction=0",
    "train.checkpoint.schedule=[]",
    "train.checkpoint.every=0",
    "train.checkpoint.at_start=false",
    "train.log.every=4",
    "train.steps=12",
    "train.schedule.warmup_steps=2",
    "train.log.style=plain",
]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--steady", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.steady:
        _steady()
        return
    start_up(options.rounds)
    subprocess.run([sys.executable, __file__, "--steady"], env=_environment(), check=True)


def start_up(rounds: int) -> None:
    """Wall and CPU seconds to the first step; CPU seconds stay comparable on a machine that others
    use too."""
    ours: list[tuple[float, float]] = []
    by_hand: list[tuple[float, float]] = []
    for _ in range(rounds):
        by_hand.append(_spent([sys.executable, "-c", BY_HAND]))
        with tempfile.TemporaryDirectory() as folder:
            command = [
                sys.executable,
                "-m",
                "trainer",
                "--profile",
                "gpt2-micro-smoke",
                "--output",
                folder,
            ]
            for setting in ONE_STEP:
                command += ["--set", setting]
            ours.append(_spent(command, until="step 1/1"))
    for number, what in enumerate(("wall", "cpu")):
        mine, theirs = (
            statistics.median(each[number] for each in taken) for taken in (ours, by_hand)
        )
        print(
            f"to the first step, {what}: ours {mine:.2f} s, by hand {theirs:.2f} s, ratio"
            f" {mine / theirs:.2f}",
            flush=True,
        )


def _spent(command: list[str], until: str = "") -> tuple[float, float]:
    """Seconds until the process prints `until`, or ends; CPU seconds are those of the whole
    process."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    began = time.perf_counter()
    process = subprocess.Popen(
        command,
        cwd=ROOT,
        env=_environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    seconds = 0.0
    assert process.stdout
    for line in process.stdout:
        if until and line.startswith(until):
            seconds = time.perf_counter() - began
            process.kill()  # what follows, the final checkpoint, is not part of starting up
            break
    process.wait()
    seconds = seconds or time.perf_counter() - began
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return seconds, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def _steady() -> None:
    """gpt2-micro's own shape: our loop, then the same model stepped by hand, then the data alone;
    in CPU seconds."""
    import numpy as np
    import torch

    from trainer.data import open_samples
    from trainer.distributed.process_group import join
    from trainer.models import build, initialise
    from trainer.profile import read_profile
    from trainer.strategies import ddp

    train = read_profile("gpt2-micro", MICRO).train
    samples, _ = open_samples(train, Path("."), 1)
    found = samples.take(np.arange(2))
    batch = {name: torch.from_numpy(np.ascontiguousarray(values)) for name, values in found.items()}
    tokens = batch["label"].numel()
    session = ddp.wrap(train, join(train))
    model = build(train)
    initialise(model, train.seed)
    optimizer = torch.optim.AdamW(model.parameters(), lr=6e-4, fused=True)

    def by_hand() -> None:
        loss = model(batch)[0] / tokens
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)

    def ours() -> None:
        ddp.step(session, [batch], {"tokens": float(tokens), "samples": 2.0}, 1)

    ours(), by_hand()
    rates: dict[str, list[float]] = {"ours": [], "by hand": []}
    for turn in range(6):
        # Each goes first in every other round: whoever comes second finds warmer memory.
        for name, step in (("ours", ours), ("by hand", by_hand))[:: 1 if turn % 2 else -1]:
            began = time.process_time()
            step()
            rates[name].append(tokens / (time.process_time() - began))
    mine, theirs = statistics.median(rates["ours"]), statistics.median(rates["by hand"])
    print(
        f"gpt2-micro, tokens per CPU second: ours {mine:,.0f}, by hand {theirs:,.0f}, ratio"
        f" {mine / theirs:.2f}"
    )
    began = time.process_time()
    for start in range(0, 400, 2):
        samples.take(np.arange(start, start + 2))
    supplied = 200 * tokens / (time.process_time() - began)
    print(json.dumps({"data_over_model": round(supplied / mine, 1)}))


def _environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}


if __name__ == "__main__":
    main()
