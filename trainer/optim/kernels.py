"""GPU kernels over all tensors of an optimizer at once, written in Triton; imported only where
there is a GPU."""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

# Elements of a tensor per program: of a sum, and of an optimizer's step, which has five streams
_SUM_CHUNK, _STEP_CHUNK = 16384, 4096


class SumTable:
    """Adds bf16 gradients to fp32 sums, all tensors in one kernel."""

    def __init__(self, totals: list[Tensor]) -> None:
        device = totals[0].device
        self.totals = _addresses(totals, device)
        self.sizes, self.chunks = _pieces(totals, _SUM_CHUNK)
        self.known: tuple[int, ...] = ()
        self.sources = self.sizes

    def add(self, sources: list[Tensor], first: bool) -> None:
        """With `first` the sums become the sources."""
        addresses = tuple(each.data_ptr() for each in sources)
        if addresses != self.known:
            self.known, self.sources = addresses, _addresses(sources, self.sizes.device)
        _sum[(len(self.chunks),)](
            self.totals,
            self.sources,
            self.sizes,
            self.chunks,
            FIRST=first,
            CHUNK=_SUM_CHUNK,
            BLOCK=2048,
            num_warps=4,
        )


@triton.jit
def _sum(  # type: ignore[no-untyped-def]
    totals,
    sources,
    sizes,
    chunks,
    FIRST: tl.constexpr,
    CHUNK: tl.constexpr,
    BLOCK: tl.constexpr,
):
    tensor = tl.load(chunks + 2 * tl.program_id(0))
    begin = tl.load(chunks + 2 * tl.program_id(0) + 1)
    size = tl.load(sizes + tensor)
    total = tl.load(totals + tensor).to(tl.pointer_type(tl.float32))
    source = tl.load(sources + tensor).to(tl.pointer_type(tl.bfloat16))
    total, source = tl.multiple_of(total, 16), tl.multiple_of(source, 16)
    for inner in range(0, CHUNK, BLOCK):
        here = begin + inner + tl.arange(0, BLOCK)
        value = tl.load(source + here, mask=here < size, other=0.0).to(tl.float32)
        if not FIRST:
            value += tl.load(total + here, mask=here < size, other=0.0)
        tl.store(total + here, value, mask=here < size)


def _pieces(tensors: list[Tensor], chunk: int) -> tuple[Tensor, Tensor]:
    """The sizes of all tensors, and (tensor, start) of each program's piece."""
    sizes, device = [each.numel() for each in tensors], tensors[0].device
    chunks = [
        (number, start) for number, size in enumerate(sizes) for start in range(0, size, chunk)
    ]
    return (
        torch.tensor(sizes, dtype=torch.int64, device=device),
        torch.tensor(chunks, dtype=torch.int64, device=device),
    )


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
        self.sizes, self.chunks = _pieces(parameters, _STEP_CHUNK)
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
            CHUNK=_STEP_CHUNK,
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
