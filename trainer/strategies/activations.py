"""Activation checkpointing: blocks keep little of their forward pass and compute the rest again in
the backward pass.

A block keeps its input only, or also what is costly to compute: products of matrices and attention.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch.utils.checkpoint import (
    CheckpointPolicy,
    checkpoint,
    create_selective_checkpoint_contexts,
)

from trainer.config import Strategy
from trainer.recompute import recomputed_places
from trainer.strategies.offload import Offload

# Of linear layers. Not bmm, which is attention that was not fused: its scores are larger than all
# else, and what needs them draws random numbers
_PRODUCTS = ("mm", "addmm", "_scaled_mm")
_ATTENTION = (
    "_scaled_dot_product_flash_attention",
    "_scaled_dot_product_efficient_attention",
    "_scaled_dot_product_cudnn_attention",
    "_scaled_dot_product_flash_attention_for_cpu",
)


def recompute_blocks(model: Any, strategy: Strategy, dropout: float) -> None:
    """As the strategy says, nothing where it says so. The blocks' own names stay as they are, and
    with them the names in checkpoints."""
    if strategy.activation_checkpointing is not True:
        return
    blocks = [block for _, _, block in model.blocks()]
    offload = Offload() if strategy.activation_offload else None
    how: dict[str, Any] = {"use_reentrant": False}
    if strategy.recompute == "cheap":
        how["context_fn"] = partial(_keeping_costly, keeps_attention=not dropout)
    for place in recomputed_places(len(blocks), strategy.recomputed_blocks):
        forward = partial(_recomputed, blocks[place].forward, how)
        blocks[place].forward = partial(_offloaded, forward, offload) if offload else forward


def _recomputed(forward: Callable[..., Any], how: dict[str, Any], *inputs: Any) -> Any:
    return checkpoint(forward, *inputs, **how)


# Its own frame is left to Python, what it calls is compiled: hooks are set around compiled code
@torch.compiler.disable(recursive=False)  # type: ignore[untyped-decorator]
def _offloaded(forward: Callable[..., Any], offload: Offload, hidden: Any, *others: Any) -> Any:
    with offload.keeping(hidden):
        return forward(hidden, *others)


def _keeping_costly(keeps_attention: bool) -> Any:
    return create_selective_checkpoint_contexts(partial(_policy, _costly(keeps_attention)))


def _policy(costly: frozenset[Any], _context: Any, operator: Any, *_: Any, **__: Any) -> Any:
    return CheckpointPolicy.MUST_SAVE if operator in costly else CheckpointPolicy.PREFER_RECOMPUTE


def _costly(keeps_attention: bool) -> frozenset[Any]:
    """Attention with dropout is not among them: it draws random numbers, and if it were not
    computed again, all later dropout of its block would draw others than before."""
    names = _PRODUCTS + (_ATTENTION if keeps_attention else ())
    found = [getattr(torch.ops.aten, name).default for name in names]
    return frozenset([*found, *_flex()] if keeps_attention else found)


def _flex() -> list[Any]:
    from torch._higher_order_ops.flex_attention import flex_attention

    return [flex_attention]
