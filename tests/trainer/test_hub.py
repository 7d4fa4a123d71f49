"""Hub datasets read while training: from a folder in the hub's layout, so that no network is
needed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from tests.support.trainer.launching import kill_after, losses, start, steps_saved, worst_difference
from trainer.__main__ import main
from trainer.checkpoint.checkpoint import read_state
from trainer.config import Data, Model, Train
from trainer.data.stream import BEGINNING, Stream
from trainer.errors import BadInput

pytest.importorskip("datasets")
FILES, TEXTS = 5, 4  # per file


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setenv("HF_HOME", str(tmp_path / "cache"))
    folder = tmp_path / "hub"
    folder.mkdir()
    for file in range(FILES):
        texts = (f"file {file} text {text} " * (4 + 3 * text) for text in range(TEXTS))
        (folder / f"train-{file}.jsonl").write_text(
            "".join(json.dumps({"text": text}) + "\n" for text in texts)
        )
    return folder


def stream(folder: Path, tmp_path: Path) -> Stream:
    data = Data(source="hf", dataset=str(folder), stream=True)
    return Stream(Train(model=Model(context=32, vocab_size=257), data=data), tmp_path)


def rows(
    folder: Path, tmp_path: Path, place: dict[str, Any]
) -> Iterator[tuple[list[int], dict[str, Any]]]:
    return ((row.tolist(), after) for row, after in stream(folder, tmp_path).rows(place))


@pytest.mark.parametrize("kind", ["jsonl", "parquet"])
def test_every_place_in_two_passes_leads_to_the_rows_that_followed(
    kind: str, hub: Path, tmp_path: Path
) -> None:
    texts = [[json.loads(line)["text"] for line in file.open()] for file in sorted(hub.iterdir())]
    if kind == "parquet":
        _as_parquet(hub, texts)
    characters = sum(len(text) + 1 for file in texts for text in file)
    whole = list(islice(rows(hub, tmp_path, BEGINNING), 2 * characters // 32))
    for number in range(0, len(whole) - 4, 5):
        kept = json.loads(json.dumps(whole[number][1]))  # as a checkpoint holds it
        again = [row for row, _ in islice(rows(hub, tmp_path, kept), 3)]
        assert again == [row for row, _ in whole[number + 1 : number + 4]], f"after row {number}"


def test_files_long_before_the_place_are_not_read_again(hub: Path, tmp_path: Path) -> None:
    reading = rows(hub, tmp_path, BEGINNING)
    place = next(after for _, after in reading if after["document"] > 4 * TEXTS)
    expected, _ = next(reading)
    (hub / "train-1.jsonl").write_text(
        "no longer JSON"
    )  # not the first, which the library looks at to see what there is
    assert next(rows(hub, tmp_path, place))[0] == expected


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ('{"content": "a text"}', "has no column of texts named text, only content"),
        ("no JSON", "offline, use data.source text"),
    ],
)
def test_a_dataset_without_texts_is_refused(
    line: str, complaint: str, hub: Path, tmp_path: Path
) -> None:
    for file in hub.iterdir():
        file.write_text(line + "\n")
    with pytest.raises(BadInput, match=complaint):
        next(rows(hub, tmp_path, BEGINNING))


@pytest.mark.processes
def test_two_processes_killed_and_resumed_on_one_equal_one_uninterrupted(
    hub: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    settings = (
        "train.steps=8",
        "train.schedule.warmup_steps=2",
        "train.log.every=1",
        "train.checkpoint.every=3",
        "train.checkpoint.keep=0",
        "train.model.dropout=0.1",
        "train.data.source=hf",
        f"train.data.dataset={hub}",
        "train.data.dataset_config=",
        "train.data.stream=true",
        "train.data.shuffle_rows=5",
    )
    arguments = [
        "--profile",
        "gpt2-micro-smoke",
        *(part for each in settings for part in ("--set", each)),
    ]
    assert main([*arguments, "--output", str(tmp_path / "alone")]) == 0
    output = tmp_path / "run"
    kill_after(start("gpt2-micro-smoke", output, *settings, processes=2), output, checkpoint=3)
    newest = steps_saved(output)[-1]
    assert newest < 8
    place = read_state(output / "checkpoints" / f"step-{newest:08d}")["stream"]
    assert place["document"] > 0 and place["source"]
    capsys.readouterr()
    assert main([*arguments, "--output", str(output)]) == 0
    assert f"step-{newest:08d}" in capsys.readouterr().err
    assert worst_difference(losses(output), losses(tmp_path / "alone")) < 1e-5


def _as_parquet(hub: Path, texts: list[list[str]]) -> None:
    """Several tables in each file, since places are found by table and row."""
    import pyarrow
    from pyarrow import parquet

    for number, file in enumerate(sorted(hub.iterdir())):
        parquet.write_table(
            pyarrow.table({"text": texts[number]}),
            hub / f"train-{number}.parquet",
            row_group_size=2,
        )
        file.unlink()
