"""One step at a time: what is skipped, clipped, and kept in which precision."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from trainer.distributed.process_group import ProcessGroup
from trainer.loop.loop import Training
from trainer.profile import read_profile
from trainer.strategies import ddp

ALONE = ProcessGroup(0, 0, 1, 1, torch.device("cpu"), grouped=False)
TINY = (
    "train.model.layers=1",
    "train.model.heads=2",
    "train.model.width=16",
    "train.model.context=8",
    "train.model.vocab_size=64",
    "train.model.dropout=0.0",
    "train.batch_size=4",
    "train.device_batch_size=2",
    "train.schedule.warmup_steps=0",
)


def session(*settings: str) -> Any:
    return ddp.wrap(read_profile("gpt2-small-smoke", [*TINY, *settings]).train, ALONE)


def batches(count: int = 2) -> list[dict[str, torch.Tensor]]:
    tokens = torch.randint(0, 64, (count, 2, 9), generator=torch.Generator().manual_seed(0))
    return [{"input": rows[:, :-1], "label": rows[:, 1:]} for rows in tokens]


COUNTS = {"tokens": 32.0, "samples": 4.0}


def test_a_step_turned_down_moves_nothing() -> None:
    one = session()
    before = {name: value.clone() for name, value in one.module.state_dict().items()}
    outcome = ddp.step(one, batches(), COUNTS, 1, accept=lambda _: False)
    assert outcome.rejected and (one.taken, one.skipped) == (0, 1)
    assert all(torch.equal(value, before[name]) for name, value in one.module.state_dict().items())
    ddp.step(one, batches(), COUNTS, 2, accept=lambda _: True)
    assert one.taken == 1 and not torch.equal(
        one.module.transformer.wte.weight, before["transformer.wte.weight"]
    )


def test_losses_far_above_the_recent_ones_are_skipped(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    guard = ("train.guard.spike_factor=2.0", "train.guard.spike_window=3")
    profile = read_profile("gpt2-small-smoke", [*TINY, *guard, "train.steps=4"])
    training = Training(profile, tmp_path, ALONE)
    training.recent.extend([0.01] * 3)
    training.train_to_end()
    training.close()
    assert training.session.skipped == 4 and training.session.taken == 0
    assert "is over 2.0 x 0.0100; step skipped" in capsys.readouterr().err


def test_the_recent_losses_a_spike_is_measured_by_are_in_the_checkpoint(tmp_path: Path) -> None:
    guard = ("train.guard.spike_factor=2.0", "train.guard.spike_window=3")
    first = Training(
        read_profile("gpt2-small-smoke", [*TINY, *guard, "train.steps=4"]), tmp_path, ALONE
    )
    first.train_to_end()
    first.close()
    second = Training(
        read_profile("gpt2-small-smoke", [*TINY, *guard, "train.steps=5"]), tmp_path, ALONE
    )
    second.close()
    assert len(second.recent) == 3 and second.recent == first.recent


def test_clipping_is_by_the_norm_of_all_gradients_together() -> None:
    moved = {}
    for limit in (0.0, 1e-3):
        one = session(
            "train.optimizer.name=sgd",
            "train.optimizer.lr=1.0",
            "train.optimizer.momentum=0.0",
            "train.optimizer.weight_decay=0",
            f"train.optimizer.grad_clip={limit}",
        )
        before = torch.cat([each.detach().flatten().clone() for each in one.module.parameters()])
        norm = ddp.step(one, batches(), COUNTS, 1).grad_norm
        moved[limit] = (
            torch.cat([each.detach().flatten() for each in one.module.parameters()]) - before
        )
    assert moved[0.0].norm().item() == pytest.approx(norm.item(), rel=1e-3)
    assert moved[1e-3].norm().item() == pytest.approx(1e-3, rel=1e-2)


def test_a_batch_in_one_piece_or_two_takes_the_same_step() -> None:
    split, whole = session(), session("train.device_batch_size=4")
    together = {
        name: torch.cat([batch[name] for batch in batches()]) for name in ("input", "label")
    }
    ddp.step(split, batches(), COUNTS, 1)
    ddp.step(whole, [together], COUNTS, 1)
    for one, other in zip(split.module.parameters(), whole.module.parameters(), strict=True):
        torch.testing.assert_close(one, other, atol=1e-6, rtol=1e-5)


@pytest.mark.filterwarnings(
    "ignore:mkldnn_matmul failed"
)  # CPUs without bf16 units fall back to slower products
@pytest.mark.parametrize("device_batch_size", [2, 4])
def test_bf16_weights_with_masters_follow_fp32(device_batch_size: int) -> None:
    losses = {}
    for precision in ("fp32", "bf16-master"):
        one = session(
            f"train.precision={precision}", f"train.device_batch_size={device_batch_size}"
        )
        pieces = (
            batches()
            if device_batch_size == 2
            else [
                {
                    name: torch.cat([batch[name] for batch in batches()])
                    for name in ("input", "label")
                }
            ]
        )
        for step in range(10):
            losses[precision] = ddp.step(one, pieces, COUNTS, step).loss.item()
    assert losses["bf16-master"] == pytest.approx(losses["fp32"], rel=1e-2)
    assert one.weights.masters["transformer.wte.weight"].dtype == torch.float32
    assert one.module.transformer.wte.weight.dtype == torch.bfloat16


def test_decay_spares_biases_and_norms() -> None:
    one = session("train.optimizer.weight_decay=0.1")
    names = {id(value): name for name, value in one.weights.masters.items()}
    decayed = {
        names[id(each)]
        for group in one.optimizer.param_groups
        if group["weight_decay"]
        for each in group["params"]
    }
    assert "transformer.wte.weight" in decayed and "transformer.h.0.mlp.c_fc.weight" in decayed
    assert not any(name.endswith("bias") or ".ln_" in name for name in decayed)


def test_dropout_follows_from_the_step_and_micro_batch() -> None:
    dropping = [session("train.model.dropout=0.5") for _ in range(2)]
    one, same = (ddp.step(each, batches(), COUNTS, 7).loss.item() for each in dropping)
    other = ddp.step(session("train.model.dropout=0.5"), batches(), COUNTS, 8).loss.item()
    assert one == same != other


def test_fp16_counts_the_steps_its_scaling_skips() -> None:
    one = session()
    one.train = replace(one.train, precision="fp32")
    one.scaler = torch.amp.GradScaler("cpu", init_scale=3e38)  # a loss times this overflows
    ddp.step(one, batches(), COUNTS, 1)
    assert (one.taken, one.skipped) == (0, 1)
