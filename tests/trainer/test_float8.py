"""Linear layers in float8: their products beside exact ones, and which runs get them."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from torch import Tensor

from trainer.errors import BadInput
from trainer.fast import Chip, decided
from trainer.models import build, initialise
from trainer.models.float8 import Linear, linear, use_float8
from trainer.profile import read_profile

H200 = Chip("cuda", "NVIDIA H200", True, 140 << 30, True, True)
TINY = (
    "train.model.layers=2",
    "train.model.heads=2",
    "train.model.width=64",
    "train.model.mlp_width=128",
    "train.model.context=32",
    "train.model.vocab_size=96",
)


def _error(found: Tensor, exact: Tensor) -> float:
    return float((found.detach().float() - exact).norm() / exact.norm())


def test_product_and_gradients_are_within_the_rounding_of_float8() -> None:
    torch.manual_seed(0)
    rows = torch.randn(4, 32, 64, dtype=torch.bfloat16, requires_grad=True)
    weight = (0.02 * torch.randn(96, 64)).to(torch.bfloat16).requires_grad_()
    bias = torch.randn(96, dtype=torch.bfloat16, requires_grad=True)
    slope = 1e-4 * torch.randn(4, 32, 96)  # as small as gradients are: only scaling saves them
    found = linear(rows, weight, bias, True)
    found.backward(slope.to(torch.bfloat16))
    wide_rows, wide_weight = rows.detach().float(), weight.detach().float()
    exact = wide_rows @ wide_weight.t()
    assert found.dtype == torch.bfloat16
    assert 0.001 < _error(found - bias, exact) < 0.04  # not exact: float8 was really used
    assert rows.grad is not None and weight.grad is not None and bias.grad is not None
    assert _error(rows.grad, slope @ wide_weight) < 0.08
    summed = slope.flatten(0, 1).t() @ wide_rows.flatten(0, 1)
    assert _error(weight.grad, summed) < 0.08
    assert _error(bias.grad, slope.sum((0, 1))) < 0.02


def test_a_tensor_of_zeros_and_one_with_a_huge_value_stay_finite() -> None:
    weight = torch.zeros(16, 16, dtype=torch.bfloat16, requires_grad=True)
    rows = torch.full((16, 16), 3e38, dtype=torch.bfloat16)
    product = linear(rows, weight, None, True)
    product.sum().backward()
    assert product.isfinite().all() and weight.grad is not None


def test_sizes_that_the_matrix_units_refuse_are_computed_as_before() -> None:
    rows, weight = torch.randn(3, 20), torch.randn(8, 20)
    assert torch.equal(linear(rows, weight, None, True), rows @ weight.t())


@pytest.mark.parametrize("profile", ["gpt2-small", "llama2-7b"])
def test_a_model_in_float8_has_the_same_weights_and_nearly_the_same_loss(profile: str) -> None:
    train = read_profile(profile, list(TINY)).train
    plain, small = build(train), build(replace(train, fast=replace(train.fast, float8=True)))
    initialise(plain, 1)
    initialise(small, 1)
    assert plain.state_dict().keys() == small.state_dict().keys()
    for model in (plain, small):
        model.eval()
    tokens = torch.arange(64).view(2, 32) % 96
    batch = {"input": tokens, "label": tokens}
    exact, found = float(plain(batch).detach()), float(small(batch).detach())
    assert exact != found and found == pytest.approx(exact, rel=0.01)


def test_head_norms_and_embeddings_stay_in_bf16() -> None:
    model = build(read_profile("llama2-7b", list(TINY)).train)
    use_float8(model)
    assert all(part.float8 for part in model.modules() if isinstance(part, Linear))
    assert type(model.lm_head) is torch.nn.Linear


def test_fp8_is_bf16_with_float8_layers_on_chips_that_have_it() -> None:
    train = read_profile("gpt2-small", ["train.precision=fp8", "train.strategy.name=ddp"]).train
    found, decisions = decided(train, 1, H200)
    assert found.fast.float8 and found.precision == "bf16-master"
    assert "train.fast.float8" in {each.setting for each in decisions}


@pytest.mark.parametrize("chip", [Chip(), replace(H200, name="NVIDIA A100", has_float8=False)])
def test_a_chip_without_float8_is_refused_by_name(chip: Chip) -> None:
    train = read_profile("gpt2-small", ["train.precision=fp8"]).train
    with pytest.raises(BadInput, match=f"not {chip.name}; use bf16"):
        decided(train, 1, chip)


def test_bert_is_refused_by_name() -> None:
    train = read_profile("bert-large", ["train.precision=fp8", "train.strategy.name=ddp"]).train
    with pytest.raises(BadInput, match="for gpt2 and llama, not bert"):
        decided(train, 1, H200)
