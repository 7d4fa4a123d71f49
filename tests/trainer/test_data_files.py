"""The files that samples come from: HDF5, IDX and WikiText."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest

from trainer.config import Data, Model, Train
from trainer.data import open_samples
from trainer.errors import BadInput


def write_hdf5(folder: Path, shards: int, rows: int = 6, length: int = 8) -> None:
    h5py = pytest.importorskip("h5py")
    folder.mkdir(exist_ok=True)
    for shard in range(shards):
        with h5py.File(folder / f"wiki_training_{shard}.hdf5", "w") as file:
            tokens = np.arange(rows * length).reshape(rows, length) % 90 + shard
            file["input_ids"], file["input_mask"], file["segment_ids"] = (
                tokens,
                np.ones_like(tokens),
                np.zeros_like(tokens),
            )
            file["masked_lm_positions"] = np.tile([2, 5, 0, 0], (rows, 1))
            file["masked_lm_ids"] = np.tile([11, 12, 0, 0], (rows, 1))
            file["next_sentence_labels"] = np.arange(rows) % 2


def bert_on(folder: Path, length: int = 8) -> Train:
    model = Model(kind="bert", context=16, vocab_size=100, heads=2, width=8)
    return Train(model=model, data=Data(source="hdf5", path=str(folder), sequence=length))


def test_hdf5_labels_stand_at_the_masked_positions_only(tmp_path: Path) -> None:
    write_hdf5(tmp_path / "h", shards=2)
    samples, _ = open_samples(bert_on(tmp_path / "h"), tmp_path, 2)
    batch = samples.take(np.array([0, 7]))
    assert batch["label"][0].tolist() == [-100, -100, 11, -100, -100, 12, -100, -100]
    assert len(samples) == 12 and samples.where(7) == "wiki_training_1.hdf5 row 1"


def test_hdf5_with_fewer_shards_than_processes_is_refused(tmp_path: Path) -> None:
    write_hdf5(tmp_path / "h", shards=2)
    with pytest.raises(BadInput, match="2 shards are too few for 3 processes"):
        open_samples(bert_on(tmp_path / "h"), tmp_path, 3)
    with pytest.raises(BadInput, match=r"sequences of 8, data\.sequence says 16"):
        open_samples(bert_on(tmp_path / "h", 16), tmp_path, 1)


def write_idx(path: Path, values: np.ndarray) -> None:
    raw = (
        bytes((0, 0, 8, values.ndim))
        + np.array(values.shape, ">u4").tobytes()
        + values.astype(np.uint8).tobytes()
    )
    path.write_bytes(gzip.compress(raw) if path.suffix == ".gz" else raw)


def test_mnist_is_read_plain_or_gzipped(tmp_path: Path) -> None:
    folder = tmp_path / "MNIST" / "raw"
    folder.mkdir(parents=True)
    pictures = np.arange(5 * 784).reshape(5, 28, 28) % 256
    write_idx(folder / "train-images-idx3-ubyte.gz", pictures)
    write_idx(folder / "train-labels-idx1-ubyte", np.arange(5))
    write_idx(folder / "t10k-images-idx3-ubyte", pictures[:2])
    write_idx(folder / "t10k-labels-idx1-ubyte", np.arange(2))
    train = Train(model=Model(kind="mlp"), data=Data(source="mnist", path=str(tmp_path)))
    samples, validation = open_samples(train, tmp_path, 1)
    assert (len(samples), len(validation or [])) == (5, 2)
    batch = samples.take(np.array([3]))
    assert batch["label"].tolist() == [3] and batch["input"][0, 1] == pytest.approx(
        (3 * 784 + 1) % 256 / 255
    )


def test_an_idx_file_cut_short_is_refused(tmp_path: Path) -> None:
    write_idx(tmp_path / "train-images-idx3-ubyte", np.zeros((2, 28, 28)))
    (tmp_path / "train-images-idx3-ubyte").write_bytes(
        (tmp_path / "train-images-idx3-ubyte").read_bytes()[:-9]
    )
    with pytest.raises(BadInput, match="cut short"):
        open_samples(
            Train(model=Model(kind="mlp"), data=Data(source="mnist", path=str(tmp_path))),
            tmp_path,
            1,
        )


def test_wikitext_is_put_back_together() -> None:
    from trainer.loop.evaluate import detokenised

    assert (
        detokenised('a well @-@ known 1 @,@ 000 ( or so ) , he said " yes " .')
        == 'a well-known 1,000 (or so), he said "yes".'
    )
