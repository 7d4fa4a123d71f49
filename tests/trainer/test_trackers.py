"""train.log.to: metrics in TensorBoard, Weights & Biases and MLflow, through their own
libraries."""

from __future__ import annotations

import importlib.util
import json
import struct
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.trainer.launching import launch
from trainer.config import Log, Train
from trainer.errors import BadInput
from trainer.loop.trackers import Trackers, check_trackers, wanted
from trainer.profile import read_profile

QUICK = ("train.steps=3", "train.log.every=1", "train.schedule.warmup_steps=0", "train.device=cpu")
SECRET = "0123456789abcdef0123456789abcdef01234567"  # of the length that wandb's keys have


def test_the_older_setting_and_the_list_name_the_same_thing_once() -> None:
    assert wanted(Train(log=Log(tensorboard=True, to=("wandb", "tensorboard")))) == [
        "tensorboard",
        "wandb",
    ]
    profile = read_profile("gpt2-micro-smoke", ["train.log.to=[tensorboard, mlflow]"])
    assert wanted(profile.train) == ["tensorboard", "mlflow"]
    with pytest.raises(BadInput, match="tensorboard, wandb, mlflow"):
        read_profile("gpt2-micro-smoke", ["train.log.to=[neptune]"])


def test_a_library_that_is_not_there_is_named_before_anything_starts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(BadInput, match=r'mlflow needs its library.*"playrunner\[mlflow\]"'):
        check_trackers(Train(log=Log(to=("mlflow",))))


def test_wandb_without_an_account_is_refused_and_offline_is_not(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    pytest.importorskip("wandb", reason='pip install "playrunner[wandb]"')
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("WANDB_API_KEY", "WANDB_MODE", "NETRC"):
        monkeypatch.delenv(name, raising=False)
    train = Train(log=Log(to=("wandb",)))
    with pytest.raises(BadInput, match="WANDB_API_KEY in train_environment"):
        check_trackers(train)
    monkeypatch.setenv("WANDB_MODE", "offline")
    check_trackers(train)


@pytest.mark.processes
def test_wandb_offline_has_every_step_once_and_never_the_key(tmp_path: Path) -> None:
    messages = pytest.importorskip(
        "wandb.proto.wandb_internal_pb2", reason='pip install "playrunner[wandb]"'
    )
    environment = {"WANDB_MODE": "offline", "WANDB_API_KEY": SECRET, "HOME": str(tmp_path)}
    ended = launch(
        "gpt2-micro-smoke",
        tmp_path / "story" / "output",
        *QUICK,
        "train.log.to=[wandb]",
        "train.log.project=rehearsal",
        processes=2,
        environment=environment,
    )
    assert ended.code == 0, ended.text
    written = list((tmp_path / "story" / "output" / "wandb").glob("offline-run-*/*.wandb"))
    assert len(written) == 1, "rank 0 alone"
    steps, names = [], set()
    for data in _records(written[0].read_bytes()):
        record = messages.Record()
        record.ParseFromString(data)
        if record.WhichOneof("record_type") == "run":
            names.add((record.run.project, record.run.display_name))
        if record.WhichOneof("record_type") == "history":
            values = {
                item.key or "/".join(item.nested_key): json.loads(item.value_json)
                for item in record.history.item
            }
            steps.append((record.history.step.num, values["train/loss"]))
    metrics = (tmp_path / "story" / "output" / "metrics.jsonl").read_text().splitlines()
    own = [json.loads(line) for line in metrics]
    losses = [(each["step"], each["loss"]) for each in own if each.get("loss") is not None]
    assert [step for step, _ in losses] == [1, 2, 3]
    assert [loss for _, loss in steps] == pytest.approx([loss for _, loss in losses])
    assert names == {("rehearsal", "story")}
    _holds_no_secret(tmp_path, ended.text)


@pytest.mark.processes
def test_mlflow_has_every_step_and_a_resumed_run_goes_on_in_the_same_one(tmp_path: Path) -> None:
    pytest.importorskip("mlflow", reason='pip install "playrunner[mlflow]"')
    environment = {"MLFLOW_TRACKING_TOKEN": SECRET, "HOME": str(tmp_path)}
    output = tmp_path / "run"
    for steps in (2, 4):
        ended = launch(
            "gpt2-micro-smoke",
            output,
            *QUICK,
            f"train.steps={steps}",
            "train.log.to=[mlflow]",
            environment=environment,
        )
        assert ended.code == 0, ended.text
    (losses,) = output.glob("mlruns/*/*/metrics/train/loss")
    assert [line.split()[2] for line in losses.read_text().splitlines()] == ["1", "2", "3", "4"]
    (status,) = output.glob("mlruns/*/*/meta.yaml")
    assert "run_name: run" in status.read_text()
    _holds_no_secret(tmp_path, ended.text)


def test_a_service_that_fails_later_is_given_up_and_training_goes_on(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("mlflow", reason='pip install "playrunner[mlflow]"')
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    trackers = Trackers(Train(log=Log(to=("mlflow",))), tmp_path)
    trackers.write({"step": 1, "loss": 2.0})
    (runs,) = tmp_path.glob("mlruns/*/*/meta.yaml")
    runs.unlink()  # as a server that has lost the run
    trackers.write({"step": 2, "loss": 1.0})
    trackers.write({"step": 3, "loss": 1.0})
    trackers.close()
    told = capsys.readouterr().err
    assert told.count("mlflow is given up") == 1 and "metrics.jsonl has all" in told


def _records(data: bytes) -> Iterator[bytes]:
    """Of wandb's own file: LevelDB's log in blocks of 32 KiB, behind a header of seven bytes."""
    at, parts = 7, b""
    while at + 7 <= len(data):
        if 32768 - at % 32768 < 7:
            at += 32768 - at % 32768
            continue
        length, kind = struct.unpack_from("<HB", data, at + 4)
        parts += data[at + 7 : at + 7 + length]
        at += 7 + length
        if kind in (1, 4):  # whole, or the last part of one
            yield parts
            parts = b""


def _holds_no_secret(folder: Path, text: str) -> None:
    assert SECRET not in text
    for path in folder.rglob("*"):
        if path.is_file():
            assert SECRET.encode() not in path.read_bytes(), path
