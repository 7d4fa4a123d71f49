"""Values that ranks sum, and what the sum must be. They repeat, so that knowing it costs little
beside the sum itself."""

from __future__ import annotations

from typing import Any

import torch

_PERIOD = 251  # a prime: no power of two of values divides into it, so that shifted blocks show


def own_values(count: int, rank: int, device: Any) -> Any:
    """What a rank gives: whole numbers below 2**24 add up exactly in 32 bits, whatever the order."""
    return _repeated((torch.arange(_PERIOD, device=device) + rank) % _PERIOD, count)


def right_sum(count: int, ranks: int, device: Any) -> Any:
    places = torch.arange(_PERIOD, device=device)
    return _repeated(
        sum(((places + rank) % _PERIOD for rank in range(ranks)), torch.zeros_like(places)), count
    )


def _repeated(values: Any, count: int) -> Any:
    return values.float().repeat(count // _PERIOD + 1)[:count].contiguous()
