"""GELU (tanh form) of a biased value, which the compiler leaves whole.

Left to itself it keeps the input only and computes the output again in the backward pass, which
writes as much memory as keeping it would have saved the reading of; at these sizes memory traffic
is the cost. The bias is added here, so that its gradient is summed while the input's is written.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor


@torch.library.custom_op("trainer::gelu", mutates_args=())
def gelu(value: Tensor, bias: Tensor | None) -> Tensor:
    if value.is_cuda:
        from trainer.models import kernels

        return kernels.gelu(value, bias)
    return torch.ops.aten.gelu(_biased(value, bias), approximate="tanh").to(value.dtype)


@torch.library.custom_op("trainer::gelu_backward", mutates_args=())
def _gelu_backward(slope: Tensor, value: Tensor, bias: Tensor | None) -> tuple[Tensor, Tensor]:
    """The value's gradient, and its sum over rows in fp32, which is the bias's."""
    if value.is_cuda:
        from trainer.models import kernels

        return kernels.gelu_backward(slope, value, bias)
    biased = _biased(value, bias)
    result = torch.ops.aten.gelu_backward(slope.to(biased.dtype), biased, approximate="tanh")
    return result.to(value.dtype), result.float().flatten(0, -2).sum(0)


def _biased(value: Tensor, bias: Tensor | None) -> Tensor:
    return value.float() if bias is None else value.float() + bias.float()


@gelu.register_fake
def _(value: Tensor, bias: Tensor | None) -> Tensor:
    return torch.empty_like(value)


@_gelu_backward.register_fake
def _(slope: Tensor, value: Tensor, bias: Tensor | None) -> tuple[Tensor, Tensor]:
    return torch.empty_like(value), value.new_empty(value.shape[-1:], dtype=torch.float32)


def _keep(ctx: Any, inputs: tuple[Tensor, Tensor | None], output: Tensor) -> None:
    ctx.save_for_backward(*(each for each in inputs if each is not None))


def _slope(ctx: Any, slope: Tensor) -> tuple[Tensor, Tensor | None]:
    value, *bias = ctx.saved_tensors
    result, total = _gelu_backward(slope.contiguous(), value, bias[0] if bias else None)
    return result, total.to(bias[0].dtype) if bias else None


gelu.register_autograd(_slope, setup_context=_keep)
