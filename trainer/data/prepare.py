"""Text tokenised once, in parallel, to shards of numbers on disk; the ledger that makes them valid
is written last."""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from trainer.config import Data, Train
from trainer.data.documents import documents
from trainer.data.tokenizer import Bytes, Subwords, open_tokenizer
from trainer.errors import BadInput

LEDGER = "ledger.json"
_TOGETHER = 1000  # texts tokenised at a time
_SHORTEST = 12  # documents layout: shorter texts teach nothing


def prepared(train: Train, data: Data, output: Path, split: str) -> Path:
    """The folder of token shards for this data; made by whichever process comes first, awaited by
    the others."""
    folder = store_folder(train, data, output, split)
    if (folder / LEDGER).exists():
        return folder
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock = (folder / ".lock").open("w")
    except OSError as error:
        raise BadInput(f"{folder}: cannot be written: {error.strerror}") from None
    with lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / LEDGER).exists():
            tokenizer = _tokenizer(train, data, output, split)
            texts = documents(data, split)
            width = train.data.sequence or train.model.context
            write_store(
                folder, _encoded(tokenizer, texts), tokenizer, data.layout, width, data.shard_tokens
            )
    return folder


def _tokenizer(train: Train, data: Data, output: Path, split: str) -> Bytes | Subwords:
    """The training text's own: one made from the validation text would number words differently."""
    trained = store_folder(train, train.data, output, "train")
    of_train = trained / "tokenizer.json"
    other = _is_other(train, data, split) and of_train.exists()
    folder = trained if other else store_folder(train, data, output, split)
    return open_tokenizer(data, folder, documents(data, split), train.model.vocab_size)


def store_folder(train: Train, data: Data, output: Path, split: str) -> Path:
    identity = _identity(train, data)
    if data.tokenizer == "trained" and _is_other(train, data, split):
        both = f"{identity} {_identity(train, train.data)}"
        identity = hashlib.sha256(both.encode()).hexdigest()[:12]
    return Path(data.cache or output / "data") / f"{split}-{identity}"


def _is_other(train: Train, data: Data, split: str) -> bool:
    """Whether this is another text than the one that is trained on."""
    return split != "train" or data != train.data


def _identity(train: Train, data: Data) -> str:
    """Changes whenever the resulting tokens would."""
    files = {}
    path = Path(data.path) if data.path else None
    for file in sorted(path.rglob("*") if path and path.is_dir() else [path] if path else []):
        if file and file.is_file():
            files[str(file)] = [file.stat().st_size, file.stat().st_mtime_ns]
    relevant = {
        key: value
        for key, value in asdict(data).items()
        if key
        in (
            "source",
            "path",
            "tokenizer",
            "tokenizer_size",
            "layout",
            "dataset",
            "dataset_config",
            "split",
            "shard_tokens",
        )
    }
    width = (data.sequence or train.model.context) if data.layout == "documents" else 0
    return hashlib.sha256(json.dumps([relevant, files, width]).encode()).hexdigest()[:12]


def write_store(
    folder: Path,
    encoded: Iterable[list[int]],
    tokenizer: Bytes | Subwords,
    layout: str,
    width: int,
    shard_tokens: int,
) -> None:
    """Token shards with their checksums, then the ledger that names them."""
    kind = np.dtype("<u2") if tokenizer.size <= 1 << 16 else np.dtype("<u4")
    pieces = (
        _wrapped(encoded, tokenizer.end, width)
        if layout == "documents"
        else _ended(encoded, tokenizer.end)
    )
    shards = []
    # As arrays from the start: a shard of Python's numbers would take two gigabytes.
    for number, group in enumerate(
        _groups((np.array(piece, dtype=kind) for piece in pieces), shard_tokens)
    ):
        tokens = np.concatenate(group)
        entry: dict[str, Any] = {
            "file": f"tokens-{number:05d}.bin",
            "tokens": len(tokens),
            "pieces": len(group),
        }
        entry["crc32"] = _write(folder / entry["file"], tokens)
        if layout == "documents":
            entry["ends"] = f"ends-{number:05d}.bin"
            entry["ends_crc32"] = _write(
                folder / entry["ends"], np.cumsum([len(piece) for piece in group], dtype="<u8")
            )
        shards.append(entry)
    if not shards:
        raise BadInput(f"{folder}: no text was found to tokenise")
    ledger = {
        "version": 1,
        "dtype": kind.str,
        "vocab_size": tokenizer.size,
        "end": tokenizer.end,
        "layout": layout,
        "shards": shards,
    }
    partial = folder / f"{LEDGER}.partial"
    partial.write_text(json.dumps(ledger, indent=1))
    os.replace(partial, folder / LEDGER)


def _write(path: Path, values: np.ndarray) -> int:
    raw = values.tobytes()
    with path.open("wb") as file:
        file.write(raw)
        file.flush()
        os.fsync(file.fileno())
    return zlib.crc32(raw)


def _encoded(tokenizer: Bytes | Subwords, texts: Iterator[str]) -> Iterator[list[int]]:
    """Many texts at a time, which the tokenizer spreads over its own threads."""
    while batch := list(islice(texts, _TOGETHER)):
        yield from tokenizer.encode(batch)


def _ended(encoded: Iterable[list[int]], end: int) -> Iterator[list[int]]:
    for tokens in encoded:
        yield [*tokens, end]


def _wrapped(encoded: Iterable[list[int]], end: int, width: int) -> Iterator[list[int]]:
    """Each text between end marks; long ones cut to pieces that fit, each wrapped again."""
    for tokens in encoded:
        for start in range(0, len(tokens), width - 2):
            piece = [end, *tokens[start : start + width - 2], end]
            if len(piece) >= _SHORTEST:
                yield piece


def _groups(pieces: Iterable[np.ndarray], limit: int) -> Iterator[list[np.ndarray]]:
    held: list[np.ndarray] = []
    size = 0
    for piece in pieces:
        held.append(piece)
        size += len(piece)
        if size >= limit:
            yield held
            held, size = [], 0
    if held:
        yield held
