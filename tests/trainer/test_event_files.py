"""TensorBoard's event files as metrics of other people's scripts, written by their own writers."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from trainer.node.event_files import EventFiles, records, scalars_of
from trainer.node.metric_lines import metrics_of


def test_the_scalars_of_a_summary_writer_become_metrics_and_grow_with_its_file(
    tmp_path: Path,
) -> None:
    pytest.importorskip("tensorboard")
    from torch.utils.tensorboard import SummaryWriter

    output, work = tmp_path / "output", tmp_path / "work"
    metrics = metrics_of(output, work)
    writer = SummaryWriter(str(work / "runs" / "first"))
    writer.add_text("note", "no scalar")
    writer.add_histogram("weights", np.arange(100), 0)
    for step in (1, 2):
        writer.add_scalar("Loss/train", 3.0 / step, step)
        writer.add_scalar("lr", 0.5, step)
    writer.flush()
    metrics.take([])
    writer.add_scalar("train/loss", 0.75, 3)
    writer.add_scalar("val_loss", 0.875, 3, new_style=True)
    writer.add_scalar("loss", float("nan"), 4)
    writer.close()
    metrics.take([])
    metrics.take([])
    lines = (output / "metrics.jsonl").read_text().splitlines()
    found = [{**json.loads(line), "time": 0} for line in lines]
    assert found == [
        {"step": 1, "time": 0, "loss": 3.0, "lr": 0.5},
        {"step": 2, "time": 0, "loss": 1.5, "lr": 0.5},
        {"step": 3, "time": 0, "loss": 0.75, "eval_loss": 0.875},
    ]
    assert all(json.loads(line)["time"] > 1.7e9 for line in lines)


def test_what_the_output_says_already_is_not_taken_twice(tmp_path: Path) -> None:
    pytest.importorskip("tensorboard")
    from torch.utils.tensorboard import SummaryWriter

    metrics = metrics_of(tmp_path / "output", tmp_path / "work")
    metrics.take(["[0] step 1 loss 2.5"])
    with SummaryWriter(str(tmp_path / "work")) as writer:
        writer.add_scalar("loss", 9.0, 1)
    metrics.take([])
    (line,) = (tmp_path / "output" / "metrics.jsonl").read_text().splitlines()
    assert json.loads(line)["loss"] == 2.5


def test_files_that_are_cut_damaged_or_something_else_are_passed_over(tmp_path: Path) -> None:
    pytest.importorskip("tensorboard")
    from torch.utils.tensorboard import SummaryWriter

    files = EventFiles([tmp_path])
    files.since -= 60  # the clock of a file system may be coarser than ours
    with SummaryWriter(str(tmp_path)) as writer:
        writer.add_scalar("loss", 1.0, 1)
    (file,) = tmp_path.glob("*tfevents*")
    whole = file.read_bytes()
    messages, used = records(whole)
    assert used == len(whole)
    for cut in range(len(whole)):
        got, taken = records(whole[:cut])
        assert got == messages[: len(got)] and taken <= cut
    for at in range(len(whole)):
        damaged = whole[:at] + bytes([whole[at] ^ 0xFF]) + whole[at + 1 :]
        for message in records(damaged)[0]:
            scalars_of(message)  # whatever it is, no error
    (tmp_path / "tfevents.of-something-else").write_bytes(b"\x00" * 400)
    assert [each[2:] for each in files.new_scalars()] == [("loss", 1.0)]
