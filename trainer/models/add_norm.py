"""`hidden + dropout(branch + bias)` and the layer norm of it, as one operator.

The compiler fuses the forward pass alike, but draws four random words for each it uses, and sums
the gradients of bias, scale and shift in passes of their own. Here one pass over the rows does all
of it, and the dropped units are drawn again in the backward pass instead of being kept.
"""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as functional
from torch import Tensor, nn

_LEVELS = 65536  # a dropout rate is rounded to one of so many


def add_norm(
    hidden: Tensor,
    branch: Tensor,
    bias: Tensor | None,
    norm: nn.LayerNorm,
    dropout: float = 0.0,
    seed: Tensor | None = None,
    draw: int = 0,
) -> tuple[Tensor, Tensor]:
    """The new hidden state, and its norm; `draw` tells the uses of one seed apart."""
    level = round(dropout * _LEVELS) if seed is not None else 0
    summed, normed, _, _ = _add_norm(
        hidden, branch, bias, norm.weight, norm.bias, norm.eps, level, seed, draw
    )
    return summed, normed


def drawn_seed(dropout: float, like: Tensor) -> Tensor | None:
    """A seed from the device's generator, where something is to be dropped."""
    return torch.randint(2**62, (1,), device=like.device) if dropout else None


@torch.library.custom_op("trainer::add_norm", mutates_args=())
def _add_norm(
    hidden: Tensor,
    branch: Tensor,
    bias: Tensor | None,
    weight: Tensor,
    shift: Tensor | None,
    eps: float,
    level: int,
    seed: Tensor | None,
    draw: int,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    if hidden.is_cuda:
        from trainer.models import norm_kernels

        return norm_kernels.add_norm(hidden, branch, bias, weight, shift, eps, level, seed, draw)
    branch = branch if bias is None else branch + bias
    kept = _kept(branch, level, seed, draw)
    summed = hidden + (branch if kept is None else branch * kept)
    wide = summed.float()
    mean = wide.mean(-1)
    spread = (wide.var(-1, correction=0) + eps).rsqrt()
    normed = functional.layer_norm(
        wide,
        wide.shape[-1:],
        weight.float(),
        None if shift is None else shift.float(),
        eps,
    )
    return summed, normed.to(branch.dtype), mean, spread


@torch.library.custom_op("trainer::add_norm_backward", mutates_args=())
def _add_norm_backward(
    summed_slope: Tensor,
    normed_slope: Tensor,
    summed: Tensor,
    mean: Tensor,
    spread: Tensor,
    weight: Tensor,
    level: int,
    seed: Tensor | None,
    draw: int,
) -> tuple[Tensor, Tensor, Tensor]:
    """Gradients of the sum and of the branch (empty where it is the sum's), and the fp32 sums of
    bias, scale and shift."""
    if summed.is_cuda:
        from trainer.models import norm_kernels

        return norm_kernels.add_norm_backward(
            summed_slope, normed_slope, summed, mean, spread, weight, level, seed, draw
        )
    rows = (-1, summed.shape[-1])
    centred = (summed.float() - mean[..., None]) * spread[..., None]
    slope = normed_slope.float() * weight.float()
    inner = slope - slope.mean(-1, True) - centred * (slope * centred).mean(-1, True)
    hidden_slope = summed_slope.float() + inner * spread[..., None]
    kept = _kept(hidden_slope, level, seed, draw)
    branch_slope = hidden_slope if kept is None else hidden_slope * kept
    sums = torch.stack(
        [
            each.reshape(rows).sum(0)
            for each in (branch_slope, normed_slope.float() * centred, normed_slope.float())
        ]
    )
    narrow = branch_slope.to(normed_slope.dtype)
    empty = narrow.new_empty(0)
    return hidden_slope.to(summed.dtype), empty if kept is None else narrow, sums


def _kept(value: Tensor, level: int, seed: Tensor | None, draw: int) -> Tensor | None:
    """1 / (1 - rate) where a unit is kept, else 0; on a CPU."""
    if seed is None or not level:
        return None
    generator = torch.Generator().manual_seed(int(seed) + draw)
    words = torch.randint(_LEVELS, value.shape, generator=generator)
    return (words >= level).to(value.dtype) * (_LEVELS / (_LEVELS - level))


@_add_norm.register_fake
def _(
    hidden: Tensor,
    branch: Tensor,
    bias: Tensor | None,
    weight: Tensor,
    shift: Tensor | None,
    eps: float,
    level: int,
    seed: Tensor | None,
    draw: int,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    rows = hidden.new_empty(hidden.shape[:-1], dtype=torch.float32)
    return torch.empty_like(hidden), torch.empty_like(branch), rows, torch.empty_like(rows)


@_add_norm_backward.register_fake
def _(
    summed_slope: Tensor,
    normed_slope: Tensor,
    summed: Tensor,
    mean: Tensor,
    spread: Tensor,
    weight: Tensor,
    level: int,
    seed: Tensor | None,
    draw: int,
) -> tuple[Tensor, Tensor, Tensor]:
    branch = torch.empty_like(normed_slope) if level else normed_slope.new_empty(0)
    sums = weight.new_empty((3, weight.shape[0]), dtype=torch.float32)
    return torch.empty_like(summed), branch, sums


def _keep(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, ...]) -> None:
    _, branch, bias, weight, shift, _, level, seed, draw = inputs
    summed, _, mean, spread = output
    ctx.save_for_backward(summed, mean, spread, weight, *([] if seed is None else [seed]))
    ctx.level, ctx.draw, ctx.narrow = level, draw, branch.dtype
    ctx.kinds = [None if each is None else each.dtype for each in (bias, weight, shift)]


def _slopes(ctx: Any, summed_slope: Tensor, normed_slope: Tensor, *_: Any) -> tuple[Any, ...]:
    summed, mean, spread, weight, *rest = ctx.saved_tensors
    hidden, branch, sums = _add_norm_backward(
        summed_slope.contiguous(),
        normed_slope.contiguous(),
        summed,
        mean,
        spread,
        weight,
        ctx.level,
        rest[0] if rest else None,
        ctx.draw,
    )
    own = [None if kind is None else sums[row].to(kind) for row, kind in enumerate(ctx.kinds)]
    branch = branch if ctx.level else hidden.to(ctx.narrow)
    return hidden, branch, *own, None, None, None, None


_add_norm.register_autograd(_slopes, setup_context=_keep)
