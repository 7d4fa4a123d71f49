"""Which blocks are computed again in the backward pass, counted from the memory there is.

Recomputing costs time, so as little is recomputed as memory asks for: first the cheap parts of as
many blocks as needed (norms, activations, additions; products of matrices and attention are kept),
and only where that is not enough, whole blocks.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Literal

from trainer.config import Strategy, Train
from trainer.frozen import frozen
from trainer.memory import GIB, block_bytes, estimate, recomputed_bytes
from trainer.validate import sequence_length

_FULL = 0.85  # of the device's memory, above which blocks are recomputed: fragments have the rest
_USUAL_CHIPS = 8  # of a node, which hybrid sharding shards over


@frozen
class Recompute:
    blocks: int = 0  # how many
    how: Literal["cheap", "block"] = "cheap"
    fits: bool = True


def recomputed_places(layers: int, count: int) -> list[int]:
    """So many blocks, evenly spread; 0 is all."""
    count = min(count, layers) or layers
    return [at for at in range(layers) if at * count // layers != (at + 1) * count // layers]


def as_asked(strategy: Strategy) -> Strategy:
    """With nothing left to `auto`: only inputs of recomputed blocks can be offloaded."""
    if strategy.activation_checkpointing != "auto":
        return strategy
    return replace(strategy, activation_checkpointing=strategy.activation_offload)


def recomputing(train: Train, world_size: int, has: float, per_unit: int) -> tuple[Strategy, str]:
    """The strategy for a device of so many bytes, and the reason where blocks are recomputed. A
    block keeps `per_unit` bytes per token and unit of width; with 0 what a plain one does."""
    strategy, model = train.strategy, train.model
    decides = strategy.activation_checkpointing == "auto" and not strategy.activation_offload
    if not decides or model.kind == "mlp":
        return as_asked(strategy), ""
    plain = replace(train, strategy=replace(strategy, activation_checkpointing=False))
    whole = counted = block_bytes(plain)
    if per_unit:
        whole = float(train.device_batch_size * sequence_length(train) * model.width * per_unit)
    needed = estimate(plain, world_size, min(world_size, _USUAL_CHIPS)).total
    rest = needed - model.layers * counted
    recompute = least(model.layers, _FULL * has - rest, whole, *recomputed_bytes(plain))
    if not recompute.blocks:
        return plain.strategy, ""
    reason = (
        f"{'the cheap parts' if recompute.how == 'cheap' else 'all'} of {recompute.blocks} of"
        f" {model.layers} blocks: without, about {(rest + model.layers * whole) / GIB:.0f} of"
        f" {has / GIB:.0f} GiB are needed"
    )
    chosen = replace(
        strategy,
        activation_checkpointing=True,
        recomputed_blocks=recompute.blocks,
        recompute=recompute.how,
    )
    return chosen, reason if recompute.fits else f"{reason}; even so it may not fit"


def least(layers: int, room: float, whole: float, cheap: float, inputs: float) -> Recompute:
    """The least that fits into `room` bytes: blocks keep `whole` bytes, `cheap` where only their
    cheap parts are recomputed, their `inputs` where all is."""
    if layers * whole <= room:
        return Recompute()
    room -= whole  # while one is recomputed, all of it is there once more
    ways: tuple[tuple[Literal["cheap", "block"], float], ...] = (
        ("cheap", cheap),
        ("block", inputs),
    )
    for how, kept in ways:
        if layers * kept <= room and kept < whole:
            return Recompute(math.ceil((layers * whole - room) / (whole - kept)), how)
    return Recompute(layers, "block", fits=False)
