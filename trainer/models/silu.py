"""SiLU of one half of a value times the other half, whose gradient is written as one value again.

The compiler would write the two halves of that gradient by one kernel that looks, for each element,
at what both need: twice the time.
"""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as functional
from torch import Tensor


@torch.library.custom_op("trainer::silu_product", mutates_args=())
def silu_product(joined: Tensor) -> Tensor:
    """`silu(gate) * up` of (..., gate beside up)."""
    if joined.is_cuda:
        from trainer.models import silu_kernels

        return silu_kernels.silu_product(joined)
    gate, up = joined.float().chunk(2, dim=-1)
    return (functional.silu(gate) * up).to(joined.dtype)


@torch.library.custom_op("trainer::silu_product_backward", mutates_args=())
def _silu_product_backward(slope: Tensor, joined: Tensor) -> Tensor:
    if joined.is_cuda:
        from trainer.models import silu_kernels

        return silu_kernels.silu_product_backward(slope, joined)
    gate, up = joined.float().chunk(2, dim=-1)
    wide, share = slope.float(), gate.sigmoid()
    gate_slope = wide * up * share * (1 + gate * (1 - share))
    return torch.cat((gate_slope, wide * gate * share), dim=-1).to(joined.dtype)


@silu_product.register_fake
def _(joined: Tensor) -> Tensor:
    return joined.new_empty((*joined.shape[:-1], joined.shape[-1] // 2))


@_silu_product_backward.register_fake
def _(slope: Tensor, joined: Tensor) -> Tensor:
    return torch.empty_like(joined)


def _keep(ctx: Any, inputs: tuple[Tensor], output: Tensor) -> None:
    ctx.save_for_backward(*inputs)


def _slope(ctx: Any, slope: Tensor) -> Tensor:
    return _silu_product_backward(slope.contiguous(), *ctx.saved_tensors)


silu_product.register_autograd(_slope, setup_context=_keep)
