"""Clipping in ZeRO's stages 1 and 2 without waiting for the GPU.

DeepSpeed's own asks the host whether the norm is a number, so that the GPU stands idle while the
host goes through the optimizer; and takes the norm of one tensor after another.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor


def clip_on_device(optimizer: Any) -> None:
    """Let this optimizer of DeepSpeed's clip without its host; where it must look at each norm
    itself, which fp16 needs for its loss scale, it stays as it is."""
    from deepspeed.runtime.zero.stage_1_and_2 import DeepSpeedZeroOptimizer

    if not isinstance(optimizer, DeepSpeedZeroOptimizer) or optimizer.cpu_offload:
        return
    if optimizer.dtype != torch.bfloat16 or optimizer.check_grad_overflow:
        return
    optimizer.scaled_global_norm = lambda norm_type=2: _norm(optimizer)
    optimizer.unscale_and_clip_grads = lambda gradients, norm: _clip(optimizer, gradients, norm)


def _norm(optimizer: Any) -> Tensor:
    """Of all gradients of all ranks; infinite where it is not a number, as DeepSpeed tells it."""
    groups = optimizer.averaged_gradients.values()
    gradients = [each for group in groups for each in group or ()]
    squares = torch.zeros((), device=optimizer.device)
    if gradients:  # a rank of many may hold none of a small model
        norms = torch._foreach_norm(gradients, 2.0, dtype=torch.float32)
        squares = torch.stack(norms).square().sum()
    torch.distributed.all_reduce(squares, group=optimizer.dp_process_group)
    return torch.nan_to_num(squares.sqrt(), nan=torch.inf, posinf=torch.inf)


def _clip(optimizer: Any, gradients: list[Tensor], norm: Tensor) -> None:
    if not optimizer.clip_grad:
        return
    shrink = optimizer.clip_grad / (norm + 1e-6)
    torch._foreach_mul_(gradients, torch.clamp(shrink, max=1.0))
