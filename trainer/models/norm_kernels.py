"""The GPU kernels of add_norm, written in Triton; imported only where there is a GPU."""

from __future__ import annotations

from functools import cache

import torch
import triton
import triton.language as tl
from torch import Tensor

_LEVELS = tl.constexpr(65536)
_WARPS, _STAGES = 2, 4
_PROGRAMS = 4  # of the backward pass per multiprocessor: each sums its rows' share of the gradients


def add_norm(
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
    hidden, branch = hidden.contiguous(), branch.contiguous()
    summed, normed = torch.empty_like(hidden), torch.empty_like(branch)
    mean = hidden.new_empty(hidden.shape[:-1], dtype=torch.float32)
    spread = torch.empty_like(mean)
    width = hidden.shape[-1]
    _forward[(mean.numel(),)](
        hidden,
        branch,
        weight if bias is None else bias,
        weight,
        weight if shift is None else shift,
        weight if seed is None else seed,
        summed,
        normed,
        mean,
        spread,
        width,
        eps,
        level,
        draw,
        BIAS=bias is not None,
        SHIFT=shift is not None,
        DROP=level > 0,
        BLOCK=triton.next_power_of_2(width),
        num_warps=_WARPS,
    )
    return summed, normed, mean, spread


def add_norm_backward(
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
    rows, width = mean.numel(), summed.shape[-1]
    programs = min(rows, _PROGRAMS * _multiprocessors(summed.device))
    hidden_slope = torch.empty_like(summed)
    branch_slope = torch.empty_like(normed_slope) if level else normed_slope.new_empty(0)
    parts = torch.empty((3, programs, width), dtype=torch.float32, device=summed.device)
    _backward[(programs,)](
        summed_slope,
        normed_slope,
        summed,
        mean,
        spread,
        weight,
        weight if seed is None else seed,
        hidden_slope,
        branch_slope,
        parts,
        rows,
        width,
        level,
        draw,
        DROP=level > 0,
        BLOCK=triton.next_power_of_2(width),
        STAGES=_STAGES,
        num_warps=_WARPS,
    )
    return hidden_slope, branch_slope, parts.sum(1)


@cache
def _multiprocessors(device: torch.device) -> int:
    return int(torch.cuda.get_device_properties(device).multi_processor_count)


@triton.jit(do_not_specialize=["draw", "level"])
def _forward(  # type: ignore[no-untyped-def]  # Triton reads annotations as kernel code
    hidden,
    branch,
    bias,
    weight,
    shift,
    seed,
    summed,
    normed,
    mean,
    spread,
    width,
    eps,
    level,
    draw,
    BIAS: tl.constexpr,
    SHIFT: tl.constexpr,
    DROP: tl.constexpr,
    BLOCK: tl.constexpr,
):
    row = tl.program_id(0).to(tl.int64)
    columns = tl.arange(0, BLOCK)
    inside = columns < width
    here = row * width + columns
    added = tl.load(branch + here, mask=inside, other=0.0).to(tl.float32)
    if BIAS:
        added += tl.load(bias + columns, mask=inside, other=0.0).to(tl.float32)
    if DROP:
        added *= _kept(seed, draw, row, level, BLOCK)
    kind = summed.dtype.element_ty
    total = tl.load(hidden + here, mask=inside, other=0.0).to(tl.float32) + added
    total = total.to(kind).to(tl.float32)  # the norm is of what is kept
    tl.store(summed + here, total.to(kind), mask=inside)
    centre = tl.sum(total, 0) / width
    away = tl.where(inside, total - centre, 0.0)
    scale = tl.rsqrt(tl.sum(away * away, 0) / width + eps)
    tl.store(mean + row, centre)
    tl.store(spread + row, scale)
    result = away * scale * tl.load(weight + columns, mask=inside, other=0.0).to(tl.float32)
    if SHIFT:
        result += tl.load(shift + columns, mask=inside, other=0.0).to(tl.float32)
    tl.store(normed + here, result.to(normed.dtype.element_ty), mask=inside)


@triton.jit(do_not_specialize=["draw", "level"])
def _backward(  # type: ignore[no-untyped-def]
    summed_slope,
    normed_slope,
    summed,
    mean,
    spread,
    weight,
    seed,
    hidden_slope,
    branch_slope,
    parts,
    rows,
    width,
    level,
    draw,
    DROP: tl.constexpr,
    BLOCK: tl.constexpr,
    STAGES: tl.constexpr,
):
    program, programs = tl.program_id(0), tl.num_programs(0)
    columns = tl.arange(0, BLOCK)
    inside = columns < width
    scale = tl.load(weight + columns, mask=inside, other=0.0).to(tl.float32)
    bias_part = tl.zeros((BLOCK,), tl.float32)
    scale_part = tl.zeros((BLOCK,), tl.float32)
    shift_part = tl.zeros((BLOCK,), tl.float32)
    for number in tl.range(program, rows, programs, num_stages=STAGES):
        row = number.to(tl.int64)
        here = row * width + columns
        outer = tl.load(normed_slope + here, mask=inside, other=0.0).to(tl.float32)
        value = tl.load(summed + here, mask=inside, other=0.0).to(tl.float32)
        passed = tl.load(summed_slope + here, mask=inside, other=0.0).to(tl.float32)
        rate = tl.load(spread + row)
        centred = tl.where(inside, (value - tl.load(mean + row)) * rate, 0.0)
        slope = outer * scale
        level_part = tl.sum(slope, 0) / width
        turn_part = tl.sum(slope * centred, 0) / width
        total = passed + (slope - level_part - centred * turn_part) * rate
        tl.store(hidden_slope + here, total.to(hidden_slope.dtype.element_ty), mask=inside)
        if DROP:
            total *= _kept(seed, draw, row, level, BLOCK)
            tl.store(branch_slope + here, total.to(branch_slope.dtype.element_ty), mask=inside)
        bias_part += tl.where(inside, total, 0.0)
        scale_part += outer * centred
        shift_part += outer
    place = parts + program * width + columns
    tl.store(place, bias_part, mask=inside)
    tl.store(place + programs * width, scale_part, mask=inside)
    tl.store(place + 2 * programs * width, shift_part, mask=inside)


@triton.jit
def _kept(seed, draw, row, level, BLOCK: tl.constexpr):  # type: ignore[no-untyped-def]
    """1 / (1 - rate) where a unit of the row is kept, else 0: four random words decide on eight
    units beside each other."""
    place = row.to(tl.int32) * (BLOCK // 8) + tl.arange(0, BLOCK // 8)
    first, second, third, fourth = tl.randint4x(tl.load(seed) + draw, place)
    words = tl.join(tl.join(first, second), tl.join(third, fourth))
    words = words.to(tl.uint32, bitcast=True)
    halves = tl.reshape(tl.join(words & 0xFFFF, words >> 16), (BLOCK,))
    return tl.where(halves.to(tl.int32) >= level, _LEVELS / (_LEVELS - level), 0.0)
