"""Stand-ins of data sets: the same formats, names and layout, a few hundred samples each."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import random
import struct
import tarfile
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

BERT = "bert_pretrain_wikicorpus_tokenized_hdf5_seqlen128"
SHARDS, ROWS, LENGTH, PREDICTIONS = 64, 32, 128, 20  # a shard for each of 2 x 32 processes
PICTURES = {"train": 2048, "t10k": 256}
_WORDS = """
the a of to in and is was for on with as by at from run node network cluster model data step loss
rank batch token layer device host time first last new small large fast slow north south river city
year people world system house water
"""


def make(folder: Path, address: str) -> dict[str, dict[str, Any]]:
    """Every stand-in below the folder, and how each is declared when the folder is served there."""
    declared = {}
    for name, (needs, write, settings) in _SETS.items():
        if needs and find_spec(needs) is None:
            continue  # the profile that reads it cannot be trained here either
        target = folder / name
        target.mkdir(parents=True, exist_ok=True)
        write(target)
        files = {
            path.name: hashlib.sha256(path.read_bytes()).hexdigest()
            for path in sorted(target.iterdir())
        }
        declared[name] = {
            "source": f"{address}/{name}/",
            "title": f"{name} (a stand-in)",
            "files": files,
            **settings,
        }
    return declared


def _bert(folder: Path) -> None:
    """A tar with the shards in a folder of its name, as the real one has."""
    import h5py
    import numpy as np

    numbers = np.random.default_rng(12349)
    with tarfile.open(folder / f"{BERT}.tar", "w") as tar:
        for shard in range(SHARDS):
            held = io.BytesIO()
            ids = numbers.integers(1000, 30522, (ROWS, LENGTH), dtype=np.int32)
            positions = np.sort(
                numbers.permuted(np.tile(np.arange(1, LENGTH), (ROWS, 1)), axis=1)[:, :PREDICTIONS]
            )
            with h5py.File(held, "w") as file:
                file["input_ids"] = ids
                file["input_mask"] = np.ones((ROWS, LENGTH), np.int8)
                file["segment_ids"] = np.repeat(
                    (np.arange(LENGTH) >= LENGTH // 2)[None], ROWS, axis=0
                ).astype(np.int8)
                file["masked_lm_positions"] = positions.astype(np.int32)
                file["masked_lm_ids"] = np.take_along_axis(ids, positions, axis=1)
                file["next_sentence_labels"] = numbers.integers(0, 2, ROWS, dtype=np.int8)
            member = tarfile.TarInfo(f"{BERT}/wikicorpus_training_{shard}.hdf5")
            member.size = held.getbuffer().nbytes
            held.seek(0)
            tar.addfile(member, held)


def _mnist(folder: Path) -> None:
    """Each digit is a bar of its own height, in noise: learned in a few steps."""
    chance = random.Random(56)
    for part, count in PICTURES.items():
        labels = bytes(chance.randrange(10) for _ in range(count))
        pictures = bytearray()
        for label in labels:
            picture = bytearray(
                chance.randbytes(784).translate(bytes(at // 8 for at in range(256)))
            )
            for row in range(2 * label + 4, 2 * label + 7):
                picture[row * 28 + 4 : row * 28 + 24] = b"\xff" * 20
            pictures += picture
        head = struct.pack(">IIII", 0x803, count, 28, 28)
        _gzip(folder / f"{part}-images-idx3-ubyte.gz", head + bytes(pictures))
        _gzip(folder / f"{part}-labels-idx1-ubyte.gz", struct.pack(">II", 0x801, count) + labels)


def _texts(folder: Path) -> None:
    for part, count in (("train", 400), ("validation", 40)):
        lines = [json.dumps({"text": text}) for text in _articles(part, count)]
        (folder / f"{part}-00000-of-00001.jsonl").write_text("\n".join(lines) + "\n")


def _c4(folder: Path) -> None:
    for name, count in (("train.00000-of-01024", 400), ("validation.00000-of-00008", 40)):
        rows = (
            json.dumps({"text": text, "timestamp": "2019-04-25T12:57:54Z", "url": "http://x.test/"})
            for text in _articles(name, count)
        )
        _gzip(folder / f"c4-{name}.json.gz", ("\n".join(rows) + "\n").encode())


def _articles(seed: str, count: int) -> list[str]:
    chance, words = random.Random(seed), _WORDS.split()
    return [" ".join(chance.choices(words, k=chance.randrange(60, 400))) for _ in range(count)]


def _gzip(path: Path, content: bytes) -> None:
    # Without a time, so that the same content has the same checksum every day.
    path.write_bytes(gzip.compress(content, 6, mtime=0))


_Sets = dict[str, tuple[str, Callable[[Path], None], dict[str, Any]]]
_SETS: _Sets = {
    "bert-wikicorpus-128": ("h5py", _bert, {"anonymous": False, "region": ""}),
    "mnist": ("", _mnist, {}),
    "wikitext-103": ("", _texts, {}),
    "text": ("", _texts, {}),
    "openwebtext": ("", _texts, {}),
    "c4": ("", _c4, {}),
}
