"""The operators of the fast path against the plain model: the same losses and gradients."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor, nn

from trainer.config import Fast, Model
from trainer.models import build, initialise
from trainer.models.add_norm import add_norm
from trainer.models.gpt2 import GPT2
from trainer.models.llama import Llama
from trainer.profile import read_profile
from trainer.strategies.cuda_graphs import compiled, use_fused_operators

SETTINGS = Model(
    kind="gpt2", layers=3, heads=4, width=64, context=32, vocab_size=100, dropout=0.0, bias=True
)


def model_and_batch(**changes: Any) -> tuple[GPT2, dict[str, Tensor]]:
    from dataclasses import replace

    torch.manual_seed(3)
    model = GPT2(replace(SETTINGS, **changes), Fast(), 128)
    initialise(model, 1)
    for name, parameter in model.named_parameters():
        if name.endswith("bias"):
            nn.init.normal_(parameter, 0, 0.1)
    tokens = torch.randint(100, (4, 33))
    return model, {"input": tokens[:, :-1], "label": tokens[:, 1:]}


def loss_and_gradients(model: nn.Module, batch: dict[str, Tensor]) -> dict[str, Tensor]:
    model.zero_grad()
    loss = model(batch).sum()
    loss.backward()
    gradients = {name: each.grad for name, each in model.named_parameters()}
    return {
        "loss": loss.detach(),
        **{name: each.clone() for name, each in gradients.items() if each is not None},
    }


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("scope", ["blocks", "model", "compiled"])
def test_a_fused_model_has_the_plain_models_loss_and_gradients(scope: str, bias: bool) -> None:
    model, batch = model_and_batch(bias=bias)
    plain = loss_and_gradients(model, batch)
    use_fused_operators(model)
    model.transformer.fuses_blocks = scope != "blocks"
    if scope == "compiled":
        model.transformer.compile(backend="aot_eager")
    fused = loss_and_gradients(model, batch)
    assert plain.keys() == fused.keys()
    for name, value in plain.items():
        torch.testing.assert_close(fused[name], value, atol=1e-5, rtol=1e-5, msg=name)


@pytest.mark.parametrize("traced", [False, True])
def test_a_llama_with_joined_projections_has_the_plain_ones_loss_and_gradients(
    traced: bool,
) -> None:
    settings = Model(
        kind="llama", layers=2, heads=4, width=64, mlp_width=88, context=32, vocab_size=100
    )
    torch.manual_seed(3)
    model = Llama(settings, Fast(), 128)
    initialise(model, 1)
    tokens = torch.randint(100, (4, 33))
    batch = {"input": tokens[:, :-1], "label": tokens[:, 1:]}
    plain = loss_and_gradients(model, batch)
    use_fused_operators(model)
    for _, _, block in model.blocks():
        block.mlp.joins_projections = True
    if traced:
        model.model.compile(backend="aot_eager")
    fused = loss_and_gradients(model, batch)
    assert plain.keys() == fused.keys()
    for name, value in plain.items():
        torch.testing.assert_close(fused[name], value, atol=1e-5, rtol=1e-5, msg=name)


@pytest.mark.parametrize(("scope", "joined"), [("model", True), ("blocks", False)])
def test_projections_are_joined_where_weights_are_whole_and_memory_is_not_short(
    scope: str, joined: bool
) -> None:
    train = read_profile("llama2-7b-smoke", (f"train.fast.compile={scope}",)).train
    model = compiled(build(train), train)
    assert {block.mlp.joins_projections for _, _, block in model.blocks()} == {joined}


def test_what_is_dropped_forward_is_dropped_backward() -> None:
    torch.manual_seed(5)
    hidden, branch = (torch.randn(16, 64, 200, requires_grad=True) for _ in range(2))
    bias = torch.randn(200, requires_grad=True)
    norm = nn.LayerNorm(200)
    leaves = [hidden, branch, bias, norm.weight, norm.bias]
    outer, inner = torch.randn(16, 64, 200), torch.randn(16, 64, 200)

    summed, normed = add_norm(hidden, branch, bias, norm, 0.1, torch.tensor([7]), draw=2)
    kept = (summed - hidden).detach() != 0
    assert 0.09 < 1 - kept.float().mean() < 0.11
    found = torch.autograd.grad((summed * outer + normed * inner).sum(), leaves)

    factor = kept / (1 - round(0.1 * 65536) / 65536)
    expected_sum = hidden + (branch + bias) * factor
    expected = torch.autograd.grad(
        (expected_sum * outer + norm(expected_sum) * inner).sum(), leaves
    )
    for mine, theirs in zip(found, expected, strict=True):
        torch.testing.assert_close(mine, theirs, atol=1e-4, rtol=1e-4)


def test_draws_of_one_seed_differ_and_repeat() -> None:
    hidden, branch = torch.zeros(4, 8, 64), torch.ones(4, 8, 64)
    norm, seed = nn.LayerNorm(64), torch.tensor([7])
    first, again, other = (
        add_norm(hidden, branch, None, norm, 0.5, seed, draw)[0] for draw in (0, 0, 1)
    )
    assert torch.equal(first, again)
    assert not torch.equal(first, other)


def test_a_fused_model_drops_nothing_in_evaluation() -> None:
    model, batch = model_and_batch(dropout=0.5)
    model.eval()
    plain = model(batch)
    use_fused_operators(model)
    model.transformer.fuses_blocks = True
    torch.testing.assert_close(model(batch), plain)
    model.train()
    assert not torch.allclose(model(batch), plain)
