"""Hub datasets read while training: from a folder in the hub's layout, so that no network is needed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from tests.trainer.launching import kill_after, launch, losses, start, steps_saved, worst_difference
from trainer.checkpoint import read_state
from trainer.config import Data, Model, Train
from trainer.data.stream import BEGINNING, Stream
from trainer.errors import BadInput

pytest.importorskip("datasets")
FILES, TEXTS = 3, 5  # per file


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setenv("HF_HOME", str(tmp_path / "cache"))
    folder = tmp_path / "hub"
    folder.mkdir()
    for file in range(FILES):
        texts = (f"file {file} text {text} " * (4 + 3 * text) for text in range(TEXTS))
        (folder / f"train-{file}.jsonl").write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
    return folder


def stream(folder: Path, tmp_path: Path) -> Stream:
    data = Data(source="hf", dataset=str(folder), stream=True)
    return Stream(Train(model=Model(context=32, vocab_size=257), data=data), tmp_path)


def rows(folder: Path, tmp_path: Path, place: dict[str, Any]) -> Iterator[tuple[list[int], dict[str, Any]]]:
    return ((row.tolist(), after) for row, after in stream(folder, tmp_path).rows(place))


def test_every_place_in_two_passes_leads_to_the_rows_that_followed(hub: Path, tmp_path: Path) -> None:
    characters = sum(len(json.loads(line)["text"]) + 1 for file in hub.iterdir() for line in file.open())
    whole = list(islice(rows(hub, tmp_path, BEGINNING), 2 * characters // 32))
    for number in range(0, len(whole) - 4, 7):
        kept = json.loads(json.dumps(whole[number][1]))  # as a checkpoint holds it
        again = [row for row, _ in islice(rows(hub, tmp_path, kept), 3)]
        assert again == [row for row, _ in whole[number + 1 : number + 4]], f"after row {number}"


def test_files_before_the_place_are_not_read_again(hub: Path, tmp_path: Path) -> None:
    reading = rows(hub, tmp_path, BEGINNING)
    place = next(after for _, after in reading if after["document"] > TEXTS)
    expected, _ = next(reading)
    (hub / "train-0.jsonl").write_text("no longer JSON")
    assert next(rows(hub, tmp_path, place))[0] == expected


@pytest.mark.parametrize(("line", "complaint"), [
    ('{"content": "a text"}', "has no column of texts named text, only content"), ("no JSON", "offline, use data.source text")])
def test_a_dataset_without_texts_is_refused(line: str, complaint: str, hub: Path, tmp_path: Path) -> None:
    for file in hub.iterdir():
        file.write_text(line + "\n")
    with pytest.raises(BadInput, match=complaint):
        next(rows(hub, tmp_path, BEGINNING))


@pytest.mark.processes
def test_two_processes_killed_and_resumed_on_one_equal_one_uninterrupted(hub: Path, tmp_path: Path) -> None:
    settings = ("train.steps=8", "train.schedule.warmup_steps=2", "train.log.every=1", "train.checkpoint.every=3",
                "train.checkpoint.keep=0", "train.model.dropout=0.1", "train.data.source=hf", f"train.data.dataset={hub}",
                "train.data.stream=true")
    alone = launch("gpt2-micro-smoke", tmp_path / "alone", *settings)
    assert alone.code == 0, alone.text
    output = tmp_path / "run"
    kill_after(start("gpt2-micro-smoke", output, *settings, processes=2), output, checkpoint=3)
    newest = steps_saved(output)[-1]
    assert newest < 8
    place = read_state(output / "checkpoints" / f"step-{newest:08d}")["stream"]
    assert place["document"] > 0 and place["source"]
    resumed = launch("gpt2-micro-smoke", output, *settings)
    assert resumed.code == 0 and f"step-{newest:08d}" in resumed.text, resumed.text
    assert worst_difference(losses(output), losses(tmp_path / "alone")) < 1e-5
