"""GELU (tanh form) that the compiler leaves whole.

Left to itself it keeps the input only and computes the output again in the backward pass, which
writes as much memory as keeping it would have saved the reading of; at these sizes memory traffic
is the cost.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor


@torch.library.custom_op("trainer::gelu", mutates_args=())
def gelu(value: Tensor) -> Tensor:
    if value.is_cuda:
        from trainer.models import kernels

        return kernels.gelu(value)
    return torch.ops.aten.gelu(value, approximate="tanh")


@torch.library.custom_op("trainer::gelu_backward", mutates_args=())
def _gelu_backward(slope: Tensor, value: Tensor) -> Tensor:
    if value.is_cuda:
        from trainer.models import kernels

        return kernels.gelu_backward(slope, value)
    return torch.ops.aten.gelu_backward(slope, value, approximate="tanh")


@gelu.register_fake
def _(value: Tensor) -> Tensor:
    return torch.empty_like(value)


@_gelu_backward.register_fake
def _(slope: Tensor, value: Tensor) -> Tensor:
    return torch.empty_like(value)


def _keep(ctx: Any, inputs: tuple[Tensor], output: Tensor) -> None:
    ctx.save_for_backward(inputs[0])


def _slope(ctx: Any, slope: Tensor) -> Tensor:
    return _gelu_backward(slope.contiguous(), ctx.saved_tensors[0])


gelu.register_autograd(_slope, setup_context=_keep)
