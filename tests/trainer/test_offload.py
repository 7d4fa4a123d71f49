"""Inputs of recomputed blocks in host memory: which, in which order, and fetched ahead."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from trainer.config import Strategy
from trainer.strategies.activations import recompute_blocks
from trainer.strategies.offload import Offload


class Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(8))

    def forward(self, hidden: Tensor, table: Tensor) -> Tensor:
        return torch.tanh(hidden * self.weight * table)


class Stack(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.all = nn.ModuleList(Block() for _ in range(5))

    def blocks(self) -> Any:
        return ((self.all, name, block) for name, block in self.all.named_children())

    def forward(self, hidden: Tensor) -> Tensor:
        table = torch.full((8,), 0.5)
        for block in self.all:
            hidden = block(hidden, table)
        return hidden


def offloaded(hidden: Tensor, offload: Offload, stack: Stack) -> Tensor:
    table = torch.full((8,), 0.5)
    for block in stack.all:
        with offload.keeping(hidden):
            hidden = checkpoint(block, hidden, table, use_reentrant=False)
    return hidden


def test_all_but_the_first_input_are_there_before_they_are_asked_for() -> None:
    offload, stack = Offload(), Stack()
    for turn in range(1, 3):
        hidden = torch.randn(3, 8, requires_grad=True)
        offloaded(hidden, offload, stack).sum().backward()
        assert (offload.fetched_late, offload.fetched_ahead) == (turn, 4 * turn)


def test_a_graph_that_is_dropped_takes_its_copies_along() -> None:
    offload, stack = Offload(), Stack()
    found = offloaded(torch.randn(3, 8, requires_grad=True), offload, stack)
    kept = offload._newest
    assert isinstance(kept, weakref.ref) and kept() is not None
    del found
    gc.collect()
    assert kept() is None


def test_gradients_are_the_same_also_where_blocks_are_compiled() -> None:
    torch.manual_seed(2)
    values, slopes = torch.randn(3, 8), []
    for how in ("plain", "offloaded", "compiled"):
        stack, hidden = Stack(), values.clone().requires_grad_()
        if how != "plain":
            strategy = Strategy(activation_checkpointing=True, activation_offload=True)
            recompute_blocks(stack, strategy, 0.0)
        if how == "compiled":
            for block in stack.all:
                block.compile(backend="aot_eager")
        stack(hidden).sum().backward()
        weights: list[Any] = [block.weight.grad for block in stack.all]  # type: ignore[union-attr]
        slopes.append((hidden.grad, *weights))
    for found in slopes[1:]:
        torch.testing.assert_close(found, slopes[0])
