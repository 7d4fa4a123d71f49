"""Texts from files, one at a time: txt, jsonl, json with a `data` list, csv, parquet, or a hub
dataset."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from trainer.config import Data
from trainer.errors import BadInput

_MARKER = "staged.json"  # of a staged folder; not data
_BLOCK = 1 << 20  # a large text file is handed on a megabyte at a time


def files_of(path: Path, split: str) -> list[Path]:
    """The files of a split: those with its name in theirs, or for training all that name no other
    split."""
    if path.is_file():
        return [path] if split == "train" else []
    every = sorted(
        each
        for each in path.rglob("*")
        if each.suffix in _READERS and each.name != _MARKER and each.is_file()
    )
    validation = [
        each for each in every if "validation" in each.name or "valid" in each.stem.split("-")
    ]
    return (
        validation
        if split == "validation"
        else [each for each in every if each not in validation and "test" not in each.name]
    )


def documents(data: Data, split: str) -> Iterator[str]:
    """The source's texts, in file order."""
    if data.source == "hf":
        yield from (text for text, _ in hub_documents(data, split))
        return
    files = files_of(Path(data.path), split)
    if not files and Path(data.path).is_file():
        files = [Path(data.path)]
    if not files:
        raise BadInput(
            f"data.path {data.path}: no {split} files; looked for {', '.join(sorted(_READERS))}"
        )
    for file in files:
        yield from _read(file)


def hub_documents(
    data: Data, split: str, begin: dict[str, Any] | None = None
) -> Iterator[tuple[str, dict[str, Any] | None]]:
    """A hub dataset (or a folder of one), read as it is needed: each text with the place to begin
    at to get it again.

    The place is the library's own (file and row), so that beginning there reads at most two files
    again, not all before.
    """
    try:
        from datasets import load_dataset
    except ImportError:
        raise BadInput(
            'data.source hf needs the datasets library: pip install "datasets>=4"'
        ) from None
    if not data.dataset:
        raise BadInput(
            "data.source hf needs data.dataset: a name on the hub, as allenai/c4, or a folder"
        )
    name = data.split if split == "train" else split
    try:
        rows = load_dataset(data.dataset, data.dataset_config or None, split=name, streaming=True)
        if begin:
            rows.load_state_dict(begin)
        for row in rows:
            if not isinstance(row.get("text"), str):
                raise BadInput(
                    f"dataset {data.dataset} {data.dataset_config}: has no column of texts named"
                    f" text, only {', '.join(sorted(row))}"
                )
            yield row["text"], begin
            begin = rows.state_dict()
    except (OSError, ValueError) as error:
        raise BadInput(
            f"dataset {data.dataset} {data.dataset_config}:"
            f" {next(iter(str(error).splitlines()), error)}; offline, use data.source text, folder"
            " or synthetic"
        ) from None


def _read(file: Path) -> Iterator[str]:
    reader = _READERS.get(file.suffix, _text)
    try:
        yield from reader(file)
    except (ValueError, KeyError, TypeError, OSError) as error:
        raise BadInput(
            f"{file}: not the {file.suffix or 'text'} expected: {type(error).__name__}: {error}"
        ) from None


def _text(file: Path) -> Iterator[str]:
    with file.open(encoding="utf-8", errors="replace") as lines:
        held: list[str] = []
        size = 0
        for line in lines:
            held.append(line)
            size += len(line)
            if size >= _BLOCK:
                yield "".join(held)
                held, size = [], 0
        if held:
            yield "".join(held)


def _jsonl(file: Path) -> Iterator[str]:
    with file.open(encoding="utf-8") as lines:
        for line in lines:
            if line.strip():
                yield json.loads(line)["text"]


def _json(file: Path) -> Iterator[str]:
    from trainer.data.json_rows import is_lines, rows

    if is_lines(file):
        yield from _jsonl(file)
        return
    for row in rows(file):
        yield row["text"]


def _csv(file: Path) -> Iterator[str]:
    import csv

    with file.open(encoding="utf-8", newline="") as rows:
        for row in csv.DictReader(rows):
            yield row["text"]


def _parquet(file: Path) -> Iterator[str]:
    from pyarrow import parquet

    for batch in parquet.ParquetFile(file).iter_batches(batch_size=1000, columns=["text"]):
        yield from batch.column(0).to_pylist()


_READERS: dict[str, Callable[[Path], Iterator[Any]]] = {
    ".txt": _text,
    ".jsonl": _jsonl,
    ".json": _json,
    ".csv": _csv,
    ".parquet": _parquet,
}
