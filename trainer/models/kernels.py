"""GPU kernels, written in Triton; imported only where there is a GPU."""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

_ROW_BLOCK, _ROW_WARPS = 2048, 4  # tried on an H200 at 50,304 columns
_POINTS = 4096  # elements per program of the pointwise kernels
_BACK_POINTS = 1024  # the same where two inputs are read: fewer registers, more loads under way
_CHUNK = 16384  # elements of a tensor per program of the optimizer


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
    offsets = tl.arange(0, BLOCK)
    row = tl.program_id(0).to(tl.int64)
    start = logits + row * stride
    label = tl.load(labels + row)
    # One pass keeps a running maximum and a sum rescaled to it: one exponential per element, few
    # for the rescaling.
    top = -float("inf")
    total = tl.zeros((BLOCK,), tl.float32)
    for first in range(0, vocab, BLOCK):
        here = first + offsets
        value = _logits_at(start, here, vocab, columns)
        higher = tl.maximum(top, tl.max(value, 0))
        total = total * tl.exp(top - higher) + tl.exp(value - higher)
        top = higher
    normaliser = top + tl.log(tl.sum(total, 0))
    kept = label >= 0
    at_label = tl.load(start + tl.where(kept, label, 0)).to(tl.float32)
    tl.store(losses + row, tl.where(kept, normaliser - at_label, 0.0))
    tl.debug_barrier()  # the label's logit is read by all before any of them overwrites it
    for first in range(0, columns, BLOCK):
        here = first + offsets
        value = _logits_at(start, here, vocab, columns)
        gradient = tl.exp(value - normaliser) - tl.where(here == label, 1.0, 0.0)
        tl.store(
            start + here,
            tl.where(kept, gradient, 0.0).to(logits.dtype.element_ty),
            mask=here < columns,
        )


@triton.jit
def _logits_at(start, here, vocab, columns):  # type: ignore[no-untyped-def]
    # Masked by the padded width, which allows wide loads; the vocabulary itself is often odd, which
    # would not.
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


def gelu(value: Tensor) -> Tensor:
    """The tanh form, as x * sigmoid(2u): one exponential, where tanh costs several."""
    result = torch.empty_like(value)
    _gelu[(triton.cdiv(value.numel(), _POINTS),)](
        value, result, value.numel(), BLOCK=_POINTS, num_warps=4
    )
    return result


def gelu_backward(slope: Tensor, value: Tensor) -> Tensor:
    result = torch.empty_like(value)
    count = value.numel()
    _gelu_backward[(triton.cdiv(count, _BACK_POINTS),)](
        slope, value, result, count, BLOCK=_BACK_POINTS, num_warps=4
    )
    return result


@triton.jit
def _gelu(values, results, count, BLOCK: tl.constexpr):  # type: ignore[no-untyped-def]
    here = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(values + here, mask=here < count).to(tl.float32)
    twice = 1.5957691216057308 * value * (1 + 0.044715 * value * value)
    tl.store(
        results + here, (value * tl.sigmoid(twice)).to(results.dtype.element_ty), mask=here < count
    )


@triton.jit
def _gelu_backward(slopes, values, results, count, BLOCK: tl.constexpr):  # type: ignore[no-untyped-def]
    here = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    slope = tl.load(slopes + here, mask=here < count).to(tl.float32)
    value = tl.load(values + here, mask=here < count).to(tl.float32)
    square = value * value
    share = tl.sigmoid(1.5957691216057308 * value * (1 + 0.044715 * square))
    turn = 1.5957691216057308 * (1 + 0.134145 * square)
    result = slope * (share + value * share * (1 - share) * turn)
    tl.store(results + here, result.to(results.dtype.element_ty), mask=here < count)


class AdamWTable:
    """Addresses of all tensors of an optimizer, so that one kernel moves them all: gradients are
    read in bf16 or fp32, clipping is applied on the way, and the bf16 parameters are written with
    the masters."""

    def __init__(
        self,
        parameters: list[Tensor],
        masters: list[Tensor],
        first: list[Tensor],
        second: list[Tensor],
        decays: list[float],
    ) -> None:
        device = parameters[0].device
        self.fixed = [_addresses(each, device) for each in (parameters, masters, first, second)]
        self.decays = torch.tensor(decays, dtype=torch.float32, device=device)
        sizes = [each.numel() for each in parameters]
        self.sizes = torch.tensor(sizes, dtype=torch.int64, device=device)
        chunks = [
            (number, start) for number, size in enumerate(sizes) for start in range(0, size, _CHUNK)
        ]
        self.chunks = torch.tensor(chunks, dtype=torch.int64, device=device)
        self.known: tuple[int, ...] = ()
        self.gradients = self.sizes

    def step(
        self,
        gradients: list[Tensor],
        shrink: Tensor,
        lr: float,
        betas: tuple[float, float],
        eps: float,
        step: int,
    ) -> None:
        addresses = tuple(each.data_ptr() for each in gradients)
        if (
            addresses != self.known
        ):  # they stay the same from step to step when the step is replayed
            self.known, self.gradients = addresses, _addresses(gradients, self.sizes.device)
        first, second = betas
        _adamw[(len(self.chunks),)](
            *self.fixed,
            self.gradients,
            self.decays,
            self.sizes,
            self.chunks,
            shrink,
            lr,
            first,
            second,
            eps,
            1 - first**step,
            (1 - second**step) ** 0.5,
            NARROW=gradients[0].dtype == torch.bfloat16,
            CHUNK=_CHUNK,
            BLOCK=1024,
            num_warps=4,
        )


def _addresses(tensors: list[Tensor], device: torch.device) -> Tensor:
    return (
        torch.tensor([each.data_ptr() for each in tensors], dtype=torch.int64)
        .pin_memory()
        .to(device, non_blocking=True)
    )


@triton.jit
def _adamw(  # type: ignore[no-untyped-def]  # Triton reads annotations as kernel code
    parameters,
    masters,
    firsts,
    seconds,
    gradients,
    decays,
    sizes,
    chunks,
    shrink,
    lr,
    beta1,
    beta2,
    eps,
    correct1,
    correct2,
    NARROW: tl.constexpr,
    CHUNK: tl.constexpr,
    BLOCK: tl.constexpr,
):
    program = tl.program_id(0)
    tensor = tl.load(chunks + 2 * program)
    begin = tl.load(chunks + 2 * program + 1)
    size, decay, clip = tl.load(sizes + tensor), tl.load(decays + tensor), tl.load(shrink)
    parameter = tl.load(parameters + tensor).to(tl.pointer_type(tl.bfloat16))
    master = tl.load(masters + tensor).to(tl.pointer_type(tl.float32))
    first = tl.load(firsts + tensor).to(tl.pointer_type(tl.float32))
    second = tl.load(seconds + tensor).to(tl.pointer_type(tl.float32))
    if NARROW:
        gradient = tl.load(gradients + tensor).to(tl.pointer_type(tl.bfloat16))
    else:
        gradient = tl.load(gradients + tensor).to(tl.pointer_type(tl.float32))
    parameter, master = tl.multiple_of(parameter, 16), tl.multiple_of(master, 16)
    first, second, gradient = (
        tl.multiple_of(first, 16),
        tl.multiple_of(second, 16),
        tl.multiple_of(gradient, 16),
    )
    for inner in range(0, CHUNK, BLOCK):
        here = begin + inner + tl.arange(0, BLOCK)
        inside = here < size
        slope = tl.load(gradient + here, mask=inside, other=0.0).to(tl.float32) * clip
        weight = tl.load(master + here, mask=inside, other=0.0)
        mean = tl.load(first + here, mask=inside, other=0.0)
        mean = mean + (slope - mean) * (1 - beta1)
        square = tl.load(second + here, mask=inside, other=0.0) * beta2 + slope * slope * (
            1 - beta2
        )
        weight = weight * (1 - lr * decay) - lr / correct1 * mean / (
            tl.sqrt(square) / correct2 + eps
        )
        tl.store(master + here, weight, mask=inside)
        tl.store(first + here, mean, mask=inside)
        tl.store(second + here, square, mask=inside)
        tl.store(parameter + here, weight.to(tl.bfloat16), mask=inside)
