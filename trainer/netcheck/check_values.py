"""Values that ranks sum, and the expected sum. They repeat, so that computing it costs little
beside the sum itself."""

from __future__ import annotations

from typing import Any

import torch

_PERIOD = 251  # a prime, so that blocks shifted by a power of two show


def rank_values(count: int, rank: int, device: Any) -> Any:
    """A rank's input: integers below 2**24 add up exactly in 32 bits, in any order."""
    return _repeated((torch.arange(_PERIOD, device=device) + rank) % _PERIOD, count)


def expected_sum(count: int, ranks: int, device: Any) -> Any:
    positions = torch.arange(_PERIOD, device=device)
    return _repeated(
        sum(((positions + rank) % _PERIOD for rank in range(ranks)), torch.zeros_like(positions)),
        count,
    )


def _repeated(values: Any, count: int) -> Any:
    return values.float().repeat(count // _PERIOD + 1)[:count].contiguous()
