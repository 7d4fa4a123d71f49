"""Bad input: one clear line, exit code 5, nothing left behind."""

from __future__ import annotations

from pathlib import Path

import pytest

from trainer.__main__ import main


def refused(capsys: pytest.CaptureFixture[str], output: Path, profile: str, *settings: str) -> str:
    arguments = ["--profile", profile, "--output", str(output)]
    for setting in settings:
        arguments += ["--set", setting]
    code = main(arguments)
    said = capsys.readouterr().err.strip()
    assert code == 5, said
    assert len(said.splitlines()) == 1, said
    return said


def test_missing_data(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    said = refused(capsys, tmp_path / "out", "gpt2-micro-smoke", "train.data.source=text", "train.data.path=/no/such/file")
    assert said == "trainer: data.path /no/such/file: no such file or folder"
    assert not (tmp_path / "out").exists()


def test_a_tokenizer_larger_than_the_vocabulary(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a.txt").write_text("some text " * 100)
    said = refused(capsys, tmp_path / "out", "gpt2-micro-smoke", "train.data.source=text",
                   f"train.data.path={tmp_path / 'a.txt'}", "train.model.vocab_size=200")
    assert "tokenizer bytes has 257 entries, model.vocab_size only 200" in said
    assert not (tmp_path / "out").exists()


def test_text_shorter_than_one_row(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a.txt").write_text("short")
    said = refused(capsys, tmp_path / "out", "gpt2-micro-smoke", "train.data.source=text",
                   f"train.data.path={tmp_path / 'a.txt'}")
    assert "6 tokens are less than one row of 65" in said
    assert not (tmp_path / "out").exists()


def test_an_output_that_cannot_be_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").write_text("in the way")
    assert "is a file" in refused(capsys, tmp_path / "file" / "out", "gpt2-micro-smoke")


def test_a_batch_that_does_not_divide(
        tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORLD_SIZE", "3")
    said = refused(capsys, tmp_path / "out", "gpt2-micro-smoke")
    assert "batch_size 8 is not a multiple of device_batch_size 4 x 3 processes = 12" in said


def test_a_world_without_an_address(
        tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORLD_SIZE", "2")
    monkeypatch.setenv("RANK", "0")
    monkeypatch.delenv("MASTER_ADDR", raising=False)
    assert "MASTER_ADDR is not set" in refused(capsys, tmp_path / "out", "gpt2-micro-smoke")


def test_neuron_without_its_library_says_how_to_install_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    said = refused(capsys, tmp_path / "out", "bert-large-smoke", "train.strategy.name=neuron")
    assert "pip install torch-neuronx neuronx-cc" in said


def test_a_checkpoint_of_another_model(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    short = ["--set", "train.steps=2", "--set", "train.schedule.warmup_steps=1"]
    assert main(["--profile", "gpt2-small-smoke", "--output", str(tmp_path / "out"), *short]) == 0
    capsys.readouterr()
    code = main(["--profile", "gpt2-small-smoke", "--output", str(tmp_path / "out"), "--set", "train.model.width=32", *short])
    said = capsys.readouterr().err
    assert code == 5 and "another model" in said
    assert (tmp_path / "out" / "checkpoints" / "step-00000002").exists()
