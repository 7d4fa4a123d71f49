"""Queries, keys and values of one projection, whose gradients are put together in one pass.

The compiler stacks the three gradients in one kernel and sums the projection's bias in another,
which reads all of it again.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor


def split_heads(
    projected: Tensor, bias: Tensor | None, heads: int
) -> tuple[Tensor, Tensor, Tensor]:
    """Three views (batch, heads, length, size) of a projection to which `bias` was added without a
    gradient: it gets that here."""
    query, key, value = _SplitHeads.apply(projected, bias, heads)  # type: ignore[no-untyped-call]
    return query, key, value


class _SplitHeads(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, projected: Tensor, bias: Tensor | None, heads: int) -> tuple[Tensor, ...]:
        ctx.kind = None if bias is None else bias.dtype
        batch, length, _ = projected.shape
        query, key, value = projected.view(batch, length, 3, heads, -1).permute(2, 0, 3, 1, 4)
        return query, key, value

    @staticmethod
    def backward(ctx: Any, *slopes: Tensor) -> tuple[Tensor | None, ...]:  # type: ignore[override]
        joined, total = join_heads(*slopes)
        return joined, None if ctx.kind is None else total.to(ctx.kind), None


@torch.library.custom_op("trainer::join_heads", mutates_args=())
def join_heads(query: Tensor, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
    """(batch, length, 3 x heads x size) of three (batch, heads, length, size), and its sum over
    rows in fp32."""
    if query.is_cuda:
        from trainer.models import kernels

        return kernels.join_heads(query, key, value)
    joined = torch.stack([each.transpose(1, 2) for each in (query, key, value)], 2).flatten(2)
    return joined, joined.float().flatten(0, 1).sum(0)


@join_heads.register_fake
def _(query: Tensor, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
    batch, heads, length, size = query.shape
    width = 3 * heads * size
    return query.new_empty((batch, length, width)), query.new_empty((width,), dtype=torch.float32)
