"""Rotary positions: how fast each pair of dimensions turns, as Hugging Face's Llama computes it."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from trainer.config import Model


def rotary_rates(settings: Model, device: torch.device) -> Tensor:
    """Turns per position; scaled where the context was stretched beyond the trained one."""
    size = settings.width // settings.heads
    rates = 1.0 / settings.rope_base ** (torch.arange(0, size, 2, device=device).float() / size)
    scaling = settings.rope_scaling
    if scaling.kind == "linear":
        return rates / scaling.factor
    if scaling.kind == "llama3":
        # Fast dimensions tell neighbours apart and stay; slow ones are stretched; between them it
        # goes over smoothly.
        turns = scaling.original_context * rates / (2 * math.pi)
        span = scaling.high_frequency - scaling.low_frequency
        kept = ((turns - scaling.low_frequency) / span).clamp(0.0, 1.0)
        return rates * (kept + (1.0 - kept) / scaling.factor)
    return rates
