"""Samples made up from a seed, easy enough to learn that the loss falls: everything runs with no
data at all."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from trainer.config import Train
from trainer.validate import sequence_length

_PHRASES, _PHRASE_LENGTH = 64, 16  # a language of few sayings, repeated


def synthetic(train: Train) -> Any:
    """Samples of the kind the model takes."""
    if train.model.kind == "mlp":
        return Pictures(train)
    if train.model.kind == "bert":
        return MaskedSentences(train)
    return Documents(train) if train.data.layout == "documents" else Sentences(train)


class _Synthetic:
    equal = True

    def __init__(self, train: Train) -> None:
        self.seed, self.count, self.shards = train.seed, train.data.samples, [train.data.samples]
        self.length, self.vocab = sequence_length(train), train.model.vocab_size
        self.latency = train.data.latency
        # Words from the low end leave room for marks at the high end, and a prior worth learning.
        words = max(8, min(self.vocab - 4, self.vocab // 4))
        self.phrases = np.random.default_rng(train.seed).integers(
            0, words, (_PHRASES, _PHRASE_LENGTH)
        )

    def __len__(self) -> int:
        return self.count

    def where(self, number: int) -> str:
        return f"synthetic sample {number}"

    def take(self, numbers: np.ndarray) -> dict[str, np.ndarray]:
        time.sleep(self.latency)
        return self.batch(numbers)

    def batch(self, numbers: np.ndarray) -> dict[str, np.ndarray]:
        raise NotImplementedError

    def generator(self, number: int) -> np.random.Generator:
        return np.random.Generator(np.random.PCG64([self.seed, number]))

    def sayings(self, number: int, length: int) -> np.ndarray:
        chosen = self.generator(number).integers(0, _PHRASES, -(-length // _PHRASE_LENGTH))
        return self.phrases[chosen].ravel()[:length]


class Sentences(_Synthetic):
    """Rows of tokens, cut from one stream without gaps."""

    def batch(self, numbers: np.ndarray) -> dict[str, np.ndarray]:
        rows = np.stack([self.sayings(int(number), self.length + 1) for number in numbers])
        return {"input": rows[:, :-1], "label": rows[:, 1:]}


class Documents(_Synthetic):
    """Texts of different lengths, padded to the longest of their batch."""

    equal = False

    def __init__(self, train: Train) -> None:
        super().__init__(train)
        self.pad = self.vocab - 1
        self.lengths = np.array(
            [12 + int(self.generator(n).integers(0, self.length - 12)) for n in range(self.count)]
        )

    def batch(self, numbers: np.ndarray) -> dict[str, np.ndarray]:
        from trainer.data.tokens import padded

        return padded(self.texts(numbers), self.pad)

    def texts(self, numbers: np.ndarray) -> list[np.ndarray]:
        return [self.sayings(int(number), int(self.lengths[number])) for number in numbers]


class MaskedSentences(_Synthetic):
    """Sentence pairs with masked words, for BERT."""

    equal = False

    def batch(self, numbers: np.ndarray) -> dict[str, np.ndarray]:
        rows = np.stack([self.sayings(int(number), self.length) for number in numbers])
        masked = np.stack(
            [
                self.generator(int(number) + self.count).random(self.length) < 0.15
                for number in numbers
            ]
        )
        masked[:, 1] = True  # never none
        second = np.broadcast_to(np.arange(self.length) >= self.length // 2, rows.shape)
        return {
            "input": np.where(masked, self.vocab - 2, rows),
            "label": np.where(masked, rows, -100),
            "segment": second.astype(np.int64),
            "mask": np.ones_like(rows),
            "next": (np.asarray(numbers) % 2).astype(np.int64),
        }


class Pictures(_Synthetic):
    """A noisy pattern per class, for the MLP."""

    def __init__(self, train: Train) -> None:
        super().__init__(train)
        self.patterns = np.random.default_rng(train.seed).random(
            (train.model.classes, train.model.inputs), dtype=np.float32
        )

    def batch(self, numbers: np.ndarray) -> dict[str, np.ndarray]:
        labels = np.asarray(numbers) % len(self.patterns)
        noise = np.stack(
            [
                self.generator(int(number)).random(self.patterns.shape[1], dtype=np.float32)
                for number in numbers
            ]
        )
        return {"input": (self.patterns[labels] + noise) / 2, "label": labels.astype(np.int64)}
