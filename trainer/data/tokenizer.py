"""Text to numbers: bytes, a tokenizer trained on the spot, or one from a file or the hub."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from trainer.config import Data
from trainer.errors import BadInput

_TRAINING_CHARACTERS = 50_000_000  # more text hardly changes a small vocabulary


class Bytes:
    """Each byte is its own token; 256 marks the end of a text."""

    size, end = 257, 256

    def encode(self, texts: list[str]) -> list[list[int]]:
        return [list(text.encode()) for text in texts]


class Subwords:
    """A `tokenizers` vocabulary; the end mark is the one it names, else one more entry."""

    def __init__(self, tokenizer: Any) -> None:
        self.tokenizer = tokenizer
        self.size: int = tokenizer.get_vocab_size()
        known = (tokenizer.token_to_id(mark) for mark in ("<|endoftext|>", "</s>", "[SEP]"))
        self.end: int = next((mark for mark in known if mark is not None), self.size)
        self.size = max(self.size, self.end + 1)

    def encode(self, texts: list[str]) -> list[list[int]]:
        return [found.ids for found in self.tokenizer.encode_batch(texts, add_special_tokens=False)]


def open_tokenizer(
    data: Data, cache: Path, texts: Iterable[str], vocab_size: int
) -> Bytes | Subwords:
    """The profile's tokenizer, checked against the model's vocabulary; a trained one is kept in the
    cache."""
    tokenizer = Bytes() if data.tokenizer == "bytes" else Subwords(_subwords(data, cache, texts))
    if tokenizer.size > vocab_size:
        raise BadInput(
            f"tokenizer {data.tokenizer} has {tokenizer.size} entries, model.vocab_size only"
            f" {vocab_size}"
        )
    return tokenizer


def _subwords(data: Data, cache: Path, texts: Iterable[str]) -> Any:
    # Threads of the library itself: processes forked beside them can hang on their locks.
    os.environ.setdefault("RAYON_NUM_THREADS", str(max(1, data.workers)))
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "true")
    from tokenizers import Tokenizer

    if data.tokenizer == "trained":
        kept = cache / "tokenizer.json"
        if not kept.exists():
            _train(data.tokenizer_size, texts).save(str(kept))
        return Tokenizer.from_file(str(kept))
    folder = Path(data.tokenizer)
    file = folder / "tokenizer.json" if folder.is_dir() else folder
    if file.is_file():
        return Tokenizer.from_file(str(file))
    logging.getLogger("huggingface_hub").setLevel(
        logging.ERROR
    )  # its retries are not news; the outcome is told below
    try:
        return Tokenizer.from_pretrained(data.tokenizer)
    # the library raises bare Exception for a missing name and for no network
    except Exception as error:
        raise BadInput(
            f'tokenizer "{data.tokenizer}" is no file here and the hub did not give it:'
            f" {str(error).splitlines()[0]}; use tokenizer: bytes or trained to go on offline"
        ) from None


def _train(size: int, texts: Iterable[str]) -> Any:
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=size,
        special_tokens=["<|endoftext|>"],
        initial_alphabet=alphabet,
        show_progress=False,
    )
    tokenizer.train_from_iterator(_first(texts, _TRAINING_CHARACTERS), trainer)
    return tokenizer


def _first(texts: Iterable[str], characters: int) -> Iterable[str]:
    for text in texts:
        yield text
        characters -= len(text)
        if characters <= 0:
            return
