"""The GPU kernels of silu_product, written in Triton; imported only where there is a GPU."""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

_POINTS = 2048  # elements of the product per program


def silu_product(joined: Tensor) -> Tensor:
    joined = joined.contiguous()
    half = joined.shape[-1] // 2
    result = joined.new_empty((*joined.shape[:-1], half))
    _silu_product[(triton.cdiv(result.numel(), _POINTS),)](
        joined, result, result.numel(), half, BLOCK=_POINTS, num_warps=4
    )
    return result


def silu_product_backward(slope: Tensor, joined: Tensor) -> Tensor:
    joined = joined.contiguous()
    result = torch.empty_like(joined)
    _silu_product_backward[(triton.cdiv(slope.numel(), _POINTS),)](
        slope, joined, result, slope.numel(), slope.shape[-1], BLOCK=_POINTS, num_warps=4
    )
    return result


@triton.jit
def _silu_product(joined, results, count, half, BLOCK: tl.constexpr):  # type: ignore[no-untyped-def]
    here = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    inside = here < count
    place = joined + here // half * (2 * half) + here % half
    gate = tl.load(place, mask=inside).to(tl.float32)
    up = tl.load(place + half, mask=inside).to(tl.float32)
    result = gate * tl.sigmoid(gate) * up
    tl.store(results + here, result.to(results.dtype.element_ty), mask=inside)


@triton.jit
def _silu_product_backward(slopes, joined, results, count, half, BLOCK: tl.constexpr):  # type: ignore[no-untyped-def]
    here = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    inside = here < count
    place = here // half * (2 * half) + here % half
    slope = tl.load(slopes + here, mask=inside).to(tl.float32)
    gate = tl.load(joined + place, mask=inside).to(tl.float32)
    up = tl.load(joined + place + half, mask=inside).to(tl.float32)
    share = tl.sigmoid(gate)
    kind = results.dtype.element_ty
    gate_slope = slope * up * share * (1 + gate * (1 - share))
    tl.store(results + place, gate_slope.to(kind), mask=inside)
    tl.store(results + place + half, (slope * gate * share).to(kind), mask=inside)
