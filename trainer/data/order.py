"""The order of samples: a shuffle that is computed, not stored, from (seed, epoch, position)."""

from __future__ import annotations

from typing import Any

import numpy as np


class Order:
    """Which sample is at a position of the endless sequence; each epoch has every sample exactly
    once."""

    def __init__(self, samples: Any, seed: int, shuffle: bool = True, group: int = 0) -> None:
        self.count, self.seed, self.shuffle, self.group = len(samples), seed, shuffle, group
        self.shards = np.asarray(samples.shards, dtype=np.int64)
        self.lengths = samples.lengths if group else None
        self._grouped: dict[int, np.ndarray] = {}

    def numbers(self, positions: np.ndarray) -> np.ndarray:
        """The sample numbers at these positions."""
        epochs, offsets = np.divmod(positions, self.count)
        numbers = np.empty_like(offsets)
        for epoch in np.unique(epochs):
            in_epoch = epochs == epoch
            numbers[in_epoch] = self._within(int(epoch), offsets[in_epoch])
        return numbers

    def _within(self, epoch: int, offsets: np.ndarray) -> np.ndarray:
        if not self.shuffle:
            return offsets
        if self.lengths is not None:
            by_size: np.ndarray = self._by_size(epoch)[offsets]
            return by_size
        if len(self.shards) > 1:
            return self._by_shard(epoch, offsets)
        return permuted(offsets, self.count, (self.seed, epoch))

    def _by_shard(self, epoch: int, offsets: np.ndarray) -> np.ndarray:
        """Files one after the other in a shuffled order, rows shuffled inside: a file is opened
        once per pass."""
        shard_order = permuted(np.arange(len(self.shards)), len(self.shards), (self.seed, epoch))
        ends = np.cumsum(self.shards[shard_order])
        starts = np.concatenate(([0], np.cumsum(self.shards)))[:-1]
        turns = np.searchsorted(ends, offsets, side="right")
        numbers = np.empty_like(offsets)
        for turn in np.unique(turns):
            in_shard, shard = turns == turn, int(shard_order[turn])
            size = int(self.shards[shard])
            rows = offsets[in_shard] - (int(ends[turn]) - size)
            numbers[in_shard] = starts[shard] + permuted(rows, size, (self.seed, epoch, shard))
        return numbers

    def _by_size(self, epoch: int) -> np.ndarray:
        """Batches of like length (bins four tokens wide), the batches in shuffled order."""
        if epoch not in self._grouped:
            assert self.lengths is not None
            shuffled = permuted(np.arange(self.count), self.count, (self.seed, epoch))
            by_bin = shuffled[np.argsort((self.lengths[shuffled] - 3) // 4, kind="stable")]
            whole = self.count // self.group
            batches = by_bin[: whole * self.group].reshape(whole, self.group)
            if whole:
                batches = batches[permuted(np.arange(whole), whole, (self.seed, epoch, 1))]
            self._grouped = {epoch: np.concatenate((batches.ravel(), by_bin[whole * self.group :]))}
        return self._grouped[epoch]


def permuted(positions: np.ndarray, count: int, key: tuple[int, ...]) -> np.ndarray:
    """A pseudo-random permutation of range(count) at these positions, in constant memory.

    A Feistel network permutes the next power of four; a value outside the range is permuted again
    until it is inside, which keeps it a permutation.
    """
    half = max(1, (max(count - 1, 1).bit_length() + 1) // 2)
    mask = np.uint64((1 << half) - 1)
    rounds = np.random.SeedSequence([part & 0xFFFFFFFF for part in key]).generate_state(
        4, np.uint64
    )
    values = positions.astype(np.uint64)
    pending = np.ones(values.shape, dtype=bool)
    while pending.any():
        left, right = values[pending] >> np.uint64(half), values[pending] & mask
        for secret in rounds:
            left, right = right, left ^ (_mix(right ^ secret) & mask)
        values[pending] = (left << np.uint64(half)) | right
        pending = values >= count
    return values.astype(np.int64)


def _mix(value: np.ndarray) -> np.ndarray:
    with np.errstate(over="ignore"):
        value = (value ^ (value >> np.uint64(31))) * np.uint64(0x9E3779B97F4A7C15)
        value = (value ^ (value >> np.uint64(29))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed: np.ndarray = value ^ (value >> np.uint64(32))
    return mixed
