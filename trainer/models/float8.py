"""Linear layers in float8: weights and activations in e4m3, gradients in e5m2, one scale per
tensor, taken from its largest value at each use. Sums are kept in fp32 and given out in bf16.

What is kept for backward is the activation in float8, half the size of bf16.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch
import torch.nn.functional as functional
from torch import Tensor, nn

_ACTIVATION, _GRADIENT = torch.float8_e4m3fn, torch.float8_e5m2
_MULTIPLE = 16  # of rows and columns, which the matrix units ask for
_SMALLEST = 1e-12  # of a largest value: a tensor of zeros has a scale too


class Linear(nn.Linear):
    """nn.Linear, in float8 where the run has chosen it."""

    float8 = False

    def forward(self, hidden: Tensor) -> Tensor:
        return linear(hidden, self.weight, self.bias, self.float8)


def linear(hidden: Tensor, weight: Tensor, bias: Tensor | None, float8: bool) -> Tensor:
    """`hidden @ weight.T + bias`; weight is (outputs, inputs)."""
    rows = hidden.flatten(0, -2)
    sizes = (rows.shape[0], *weight.shape)
    if not float8 or any(size % _MULTIPLE for size in sizes):
        return functional.linear(hidden, weight, bias)
    product = _Float8Product.apply(rows.to(torch.bfloat16), weight.to(torch.bfloat16))  # type: ignore[no-untyped-call]
    device = hidden.device.type
    kind = torch.get_autocast_dtype(device) if torch.is_autocast_enabled(device) else hidden.dtype
    product = product.view(*hidden.shape[:-1], weight.shape[0]).to(kind)
    return product if bias is None else product + bias.to(product.dtype)


def use_float8(model: nn.Module) -> None:
    """Let the linear layers of a model compute in float8; head, norms and embeddings have none."""
    parts: Iterable[Any] = model.modules()
    for part in parts:
        if hasattr(part, "float8"):
            part.float8 = True


class _Float8Product(torch.autograd.Function):
    """rows @ weight.T, and its two gradients, each as one float8 product."""

    @staticmethod
    def forward(ctx: Any, rows: Tensor, weight: Tensor) -> Tensor:
        small_rows, rows_scale = _rounded(rows, _ACTIVATION)
        small_weight, weight_scale = _rounded(weight, _ACTIVATION)
        ctx.save_for_backward(small_rows, rows_scale, weight, weight_scale)
        return _product(small_rows, small_weight.t(), rows_scale, weight_scale, quick=True)

    @staticmethod
    def backward(ctx: Any, slope: Tensor) -> tuple[Tensor, Tensor]:  # type: ignore[override]
        small_rows, rows_scale, weight, weight_scale = ctx.saved_tensors
        small_slope, slope_scale = _rounded(slope, _GRADIENT)
        small_weight = _scaled(weight, weight_scale, _ACTIVATION)
        rows_slope = _product(small_slope, small_weight, slope_scale, weight_scale)
        weight_slope = _product(small_slope.t(), small_rows, slope_scale, rows_scale)
        return rows_slope, weight_slope


def _rounded(value: Tensor, kind: torch.dtype) -> tuple[Tensor, Tensor]:
    """The value in float8, and the scale that gives its size back."""
    largest = value.abs().amax().float().clamp(min=_SMALLEST)
    scale = largest / torch.finfo(kind).max
    return _scaled(value, scale, kind), scale


def _scaled(value: Tensor, scale: Tensor, kind: torch.dtype) -> Tensor:
    limit = torch.finfo(kind).max
    return (value.float() / scale).clamp(-limit, limit).to(kind)


def _product(
    left: Tensor, right: Tensor, left_scale: Tensor, right_scale: Tensor, quick: bool = False
) -> Tensor:
    # The first factor has to lie in memory by rows, the second by columns. Quick sums lose a few
    # bits, which activations bear and gradients do not.
    return torch._scaled_mm(
        left.contiguous(),
        right.t().contiguous().t(),
        left_scale,
        right_scale,
        out_dtype=torch.bfloat16,
        use_fast_accum=quick,
    )
