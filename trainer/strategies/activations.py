"""Activation checkpointing: blocks keep their input only and are computed again in the backward
pass."""

from __future__ import annotations

from functools import partial
from typing import Any

import torch
from torch.utils.checkpoint import checkpoint


def recompute_blocks(model: Any, offload: bool) -> None:
    """The blocks' own names stay as they are, and with them the names in checkpoints."""
    for _, _, block in model.blocks():
        block.forward = partial(_recomputed, block.forward, offload)


def _recomputed(forward: Any, offload: bool, *inputs: Any) -> Any:
    if not offload:
        return checkpoint(forward, *inputs, use_reentrant=False)
    with torch.autograd.graph.save_on_cpu(pin_memory=torch.cuda.is_available()):
        return checkpoint(forward, *inputs, use_reentrant=False)
