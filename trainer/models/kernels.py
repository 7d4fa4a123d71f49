"""GPU kernels, written in Triton; imported only where there is a GPU."""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

_ROW_BLOCK, _ROW_WARPS = 8192, 16  # tried on an H200 at 50,304 columns
_POINTS = 4096  # elements per program of the pointwise kernels
# Rows and columns that a program sums gradients over, and the loads it has under way
_GELU_STRIP = (32, 512, 4)
_HEADS_STRIP = (64, 1024, 3)
_LOG2_E = tl.constexpr(1.4426950408889634)


def cross_entropy_in_place(logits: Tensor, labels: Tensor, vocab: int) -> Tensor:
    """The summed loss of a chunk; `logits` become the gradient of that sum."""
    rows, columns = logits.shape
    losses = torch.empty(rows, dtype=torch.float32, device=logits.device)
    _cross_entropy[(rows,)](
        logits,
        labels,
        losses,
        logits.stride(0),
        vocab,
        columns,
        BLOCK=_ROW_BLOCK,
        num_warps=_ROW_WARPS,
    )
    return losses.sum()


@triton.jit
def _cross_entropy(logits, labels, losses, stride, vocab, columns, BLOCK: tl.constexpr):  # type: ignore[no-untyped-def]
    row = tl.program_id(0).to(tl.int64)
    start = logits + row * stride
    label = tl.load(labels + row)
    kept = label >= 0
    # Exponentials are taken from the first block's maximum: one reduction a row, where a running
    # maximum needs one a block. Only a row whose logits rise by more than 88 above it overflows,
    # and is summed again from its true maximum.
    top = tl.max(_logits_at(start, 0, vocab, columns, BLOCK), 0)
    total = _exponentials(start, top, vocab, columns, BLOCK)
    if total == float("inf"):
        for first in range(BLOCK, vocab, BLOCK):
            top = tl.maximum(top, tl.max(_logits_at(start, first, vocab, columns, BLOCK), 0))
        total = _exponentials(start, top, vocab, columns, BLOCK)
    normaliser = top + tl.log(total)
    at_label = tl.load(start + tl.where(kept, label, 0)).to(tl.float32)
    tl.store(losses + row, tl.where(kept, normaliser - at_label, 0.0))
    tl.debug_barrier()  # the label's logit is read by all before any of them overwrites it
    # Where there is no label every exponential is to be 0
    shift = tl.where(kept, normaliser, float("inf")) * _LOG2_E
    kind = logits.dtype.element_ty
    whole = vocab // BLOCK * BLOCK
    for first in range(0, whole, BLOCK):
        here = start + first + tl.arange(0, BLOCK)
        tl.store(here, tl.exp2(tl.load(here).to(tl.float32) * _LOG2_E - shift).to(kind))
    for first in range(whole, columns, BLOCK):
        value = _logits_at(start, first, vocab, columns, BLOCK)
        here = first + tl.arange(0, BLOCK)
        tl.store(start + here, tl.exp2(value * _LOG2_E - shift).to(kind), mask=here < columns)
    tl.debug_barrier()
    if kept:
        tl.store(start + label, (tl.exp2(at_label * _LOG2_E - shift) - 1.0).to(kind))


@triton.jit
def _exponentials(start, top, vocab, columns, BLOCK: tl.constexpr):  # type: ignore[no-untyped-def]
    shift = top * _LOG2_E
    sums = tl.zeros((BLOCK,), tl.float32)
    whole = vocab // BLOCK * BLOCK
    for first in range(0, whole, BLOCK):
        value = tl.load(start + first + tl.arange(0, BLOCK)).to(tl.float32)
        sums += tl.exp2(value * _LOG2_E - shift)
    for first in range(whole, vocab, BLOCK):
        sums += tl.exp2(_logits_at(start, first, vocab, columns, BLOCK) * _LOG2_E - shift)
    return tl.sum(sums, 0)


@triton.jit
def _logits_at(start, first, vocab, columns, BLOCK: tl.constexpr):  # type: ignore[no-untyped-def]
    # Masked by the padded width, which allows wide loads; the vocabulary itself is often odd, which
    # would not.
    here = first + tl.arange(0, BLOCK)
    value = tl.load(start + here, mask=here < columns, other=-float("inf")).to(tl.float32)
    return tl.where(here < vocab, value, -float("inf"))


def scaled(value: Tensor, scale: Tensor, kind: torch.dtype) -> Tensor:
    """`value * scale` in `kind`, multiplied in fp32; `scale` stays on the device."""
    result = torch.empty_like(value, dtype=kind)
    _scaled[(triton.cdiv(value.numel(), _POINTS),)](
        value, scale, result, value.numel(), BLOCK=_POINTS, num_warps=4
    )
    return result


@triton.jit
def _scaled(values, scale, results, count, BLOCK: tl.constexpr):  # type: ignore[no-untyped-def]
    here = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(values + here, mask=here < count).to(tl.float32) * tl.load(scale)
    tl.store(results + here, value.to(results.dtype.element_ty), mask=here < count)


def gelu(value: Tensor, bias: Tensor | None) -> Tensor:
    """The tanh form, as x * sigmoid(2u): one exponential, where tanh costs several."""
    result = torch.empty_like(value)
    _gelu[(triton.cdiv(value.numel(), _POINTS),)](
        value,
        value if bias is None else bias,
        result,
        value.numel(),
        value.shape[-1],
        BIAS=bias is not None,
        BLOCK=_POINTS,
        num_warps=4,
    )
    return result


def gelu_backward(slope: Tensor, value: Tensor, bias: Tensor | None) -> tuple[Tensor, Tensor]:
    """The gradient of the value, and its sum over rows in fp32."""
    result, columns = torch.empty_like(value), value.shape[-1]
    rows = value.numel() // columns
    strip, wide, stages = _GELU_STRIP
    strips = triton.cdiv(rows, strip)
    parts = torch.empty((strips, columns), dtype=torch.float32, device=value.device)
    _gelu_backward[(triton.cdiv(columns, wide), strips)](
        slope,
        value,
        value if bias is None else bias,
        result,
        parts,
        rows,
        columns,
        BIAS=bias is not None,
        STRIP=strip,
        COLUMNS=wide,
        STAGES=stages,
        num_warps=4,
    )
    return result, parts.sum(0)


@triton.jit
def _gelu(values, bias, results, count, columns, BIAS: tl.constexpr, BLOCK: tl.constexpr):  # type: ignore[no-untyped-def]
    here = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(values + here, mask=here < count).to(tl.float32)
    if BIAS:
        value += tl.load(bias + here % columns).to(tl.float32)
    twice = 1.5957691216057308 * value * (1 + 0.044715 * value * value)
    tl.store(
        results + here, (value * tl.sigmoid(twice)).to(results.dtype.element_ty), mask=here < count
    )


@triton.jit
def _gelu_backward(  # type: ignore[no-untyped-def]
    slopes,
    values,
    bias,
    results,
    parts,
    rows,
    columns,
    BIAS: tl.constexpr,
    STRIP: tl.constexpr,
    COLUMNS: tl.constexpr,
    STAGES: tl.constexpr,
):
    column = tl.program_id(0) * COLUMNS + tl.arange(0, COLUMNS)
    fits = column < columns
    begin = tl.program_id(1) * STRIP
    added = tl.zeros((COLUMNS,), tl.float32)
    if BIAS:
        added += tl.load(bias + column, mask=fits, other=0.0).to(tl.float32)
    sums = tl.zeros((COLUMNS,), tl.float32)
    for row in tl.range(begin, min(begin + STRIP, rows), num_stages=STAGES):
        here = row.to(tl.int64) * columns + column
        slope = tl.load(slopes + here, mask=fits, other=0.0).to(tl.float32)
        value = tl.load(values + here, mask=fits, other=0.0).to(tl.float32) + added
        square = value * value
        share = tl.sigmoid(1.5957691216057308 * value * (1 + 0.044715 * square))
        turn = 1.5957691216057308 * (1 + 0.134145 * square)
        result = slope * (share + value * share * (1 - share) * turn)
        sums += result
        tl.store(results + here, result.to(results.dtype.element_ty), mask=fits)
    tl.store(parts + tl.program_id(1).to(tl.int64) * columns + column, sums, mask=fits)


def join_heads(query: Tensor, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
    """Three (batch, heads, length, size) as (batch, length, 3 x heads x size), and the sum over
    rows in fp32."""
    batch, heads, length, size = query.shape
    width, rows = heads * size, batch * length
    joined = query.new_empty((batch, length, 3 * width))
    strip, wide, stages = _HEADS_STRIP
    strips = triton.cdiv(rows, strip)
    parts = torch.empty((strips, 3 * width), dtype=torch.float32, device=query.device)
    for number, part in enumerate((query, key, value)):
        _join_heads[(triton.cdiv(width, wide), strips)](
            part,
            joined,
            parts,
            rows,
            length,
            width,
            number,
            *part.stride()[:3],
            SIZE=size,
            STRIP=strip,
            COLUMNS=wide,
            STAGES=stages,
            num_warps=4,
        )
    return joined, parts.sum(0)


@triton.jit(do_not_specialize=["number"])
def _join_heads(  # type: ignore[no-untyped-def]
    part,
    joined,
    parts,
    rows,
    length,
    width,
    number,
    batch_stride,
    head_stride,
    row_stride,
    SIZE: tl.constexpr,
    STRIP: tl.constexpr,
    COLUMNS: tl.constexpr,
    STAGES: tl.constexpr,
):
    column = tl.program_id(0) * COLUMNS + tl.arange(0, COLUMNS)
    fits = column < width
    source = part + (column // SIZE).to(tl.int64) * head_stride + column % SIZE
    target = number * width + column
    begin = tl.program_id(1) * STRIP
    sums = tl.zeros((COLUMNS,), tl.float32)
    for row in tl.range(begin, min(begin + STRIP, rows), num_stages=STAGES):
        batch = (row // length).to(tl.int64)
        here = source + batch * batch_stride + (row % length).to(tl.int64) * row_stride
        value = tl.load(here, mask=fits, other=0.0)
        sums += value.to(tl.float32)
        tl.store(joined + row.to(tl.int64) * 3 * width + target, value, mask=fits)
    tl.store(parts + tl.program_id(1).to(tl.int64) * 3 * width + target, sums, mask=fits)
