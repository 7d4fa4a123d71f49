"""Bad input: one clear line, exit code 5, nothing left behind."""

from __future__ import annotations

import json
from importlib.util import find_spec
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
    said = refused(
        capsys,
        tmp_path / "out",
        "gpt2-micro-smoke",
        "train.data.source=text",
        "train.data.path=/no/such/file",
    )
    assert said == "trainer: data.path /no/such/file: no such file or folder"
    assert not (tmp_path / "out").exists()


def test_a_tokenizer_larger_than_the_vocabulary(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a.txt").write_text("some text " * 100)
    said = refused(
        capsys,
        tmp_path / "out",
        "gpt2-micro-smoke",
        "train.data.source=text",
        f"train.data.path={tmp_path / 'a.txt'}",
        "train.model.vocab_size=200",
    )
    assert "tokenizer bytes has 257 entries, model.vocab_size only 200" in said
    assert not (tmp_path / "out").exists()


def test_text_shorter_than_one_row(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a.txt").write_text("short")
    said = refused(
        capsys,
        tmp_path / "out",
        "gpt2-micro-smoke",
        "train.data.source=text",
        f"train.data.path={tmp_path / 'a.txt'}",
    )
    assert "6 tokens are less than one row of 65" in said
    assert not (tmp_path / "out").exists()


def test_an_output_that_cannot_be_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("in the way")
    assert "is a file" in refused(capsys, tmp_path / "file" / "out", "gpt2-micro-smoke")


def test_a_batch_that_does_not_divide(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WORLD_SIZE", "3")
    said = refused(capsys, tmp_path / "out", "gpt2-micro-smoke")
    assert "batch_size 8 is not a multiple of device_batch_size 4 x 3 processes = 12" in said


def test_a_world_without_an_address(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WORLD_SIZE", "2")
    monkeypatch.setenv("RANK", "0")
    monkeypatch.delenv("MASTER_ADDR", raising=False)
    assert "MASTER_ADDR is not set" in refused(capsys, tmp_path / "out", "gpt2-micro-smoke")


def test_neuron_without_its_library_says_how_to_install_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    said = refused(capsys, tmp_path / "out", "bert-large-smoke", "train.strategy.name=neuron")
    assert "pip install torch-neuronx neuronx-cc" in said


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        (
            ("train.guard.spike_factor=2",),
            (
                "guard.spike_factor 2.0 is for ddp, fsdp and neuron: deepspeed's engine moves the"
                " weights before a loss can be turned down; set guard.spike_factor=0 or use"
                " strategy fsdp"
            ),
        ),
        (
            ("train.optimizer.name=lamb",),
            "LAMB needs the size of each; use strategy fsdp, or optimizer adamw",
        ),
        (("train.optimizer.name=sgd",), "strategy deepspeed trains with optimizer adamw, not sgd"),
        (
            ("train.strategy.zero_offload=parameters",),
            "strategy.zero_offload parameters needs zero_stage 3, not 1",
        ),
    ],
)
def test_what_deepspeed_would_leave_out_in_silence(
    settings: tuple[str, ...], reason: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    said = refused(
        capsys, tmp_path / "out", "gpt2-micro-smoke", "train.strategy.name=deepspeed", *settings
    )
    assert reason in said


@pytest.mark.parametrize("name", ["sgd", "lamb"])
def test_an_optimizer_that_does_not_move_master_weights(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    said = refused(
        capsys,
        tmp_path / "out",
        "gpt2-micro-smoke",
        "train.precision=bf16-master",
        f"train.optimizer.name={name}",
    )
    assert f"precision bf16-master is for optimizer adamw, not {name}" in said


@pytest.mark.parametrize(
    ("target", "reason"),
    [
        ("gs://bucket/run", "needs the gcsfs library: pip install gcsfs"),
        ("s3n://bucket/run", 'no store "s3n"; did you mean "s3"?'),
        ("s3://", "names no bucket; write it as s3://bucket/run"),
    ],
)
def test_a_store_that_could_never_be_reached(
    target: str, reason: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if target.startswith("s3:"):
        pytest.importorskip("s3fs")
    elif target.startswith("gs:") and find_spec("gcsfs"):
        pytest.skip("gcsfs is installed here")
    assert reason in refused(
        capsys, tmp_path / "out", "gpt2-micro-smoke", f"train.checkpoint.upload={target}"
    )
    assert not (tmp_path / "out").exists()


def test_a_password_in_the_store_s_address_is_refused_and_not_repeated(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    said = refused(
        capsys,
        tmp_path / "out",
        "gpt2-micro-smoke",
        "train.checkpoint.upload=sftp://me:hunter2@host/run",
    )
    assert "remove the part before the @" in said and "hunter2" not in said


def test_data_found_to_be_bad_after_a_while_costs_no_checkpoint(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    good = "".join(json.dumps({"text": "x" * 99}) + "\n" for _ in range(20))
    (tmp_path / "train.jsonl").write_text(good + "no JSON\n")
    code = main(
        [
            "--profile",
            "gpt2-small-smoke",
            "--output",
            str(tmp_path / "out"),
            "--set",
            "train.data.source=folder",
            "--set",
            f"train.data.path={tmp_path / 'train.jsonl'}",
            "--set",
            "train.data.stream=true",
            "--set",
            "train.model.vocab_size=257",
            "--set",
            "train.checkpoint.asynchronous=false",
            "--set",
            "train.data.shuffle_rows=4",
        ]
    )
    assert code == 5 and "train.jsonl: not the .jsonl expected" in capsys.readouterr().err
    assert sorted(path.name for path in (tmp_path / "out" / "checkpoints").glob("step-*")) == [
        "step-00000002",
        "step-00000004",
    ]


def test_a_checkpoint_of_another_model(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    short = ["--set", "train.steps=2", "--set", "train.schedule.warmup_steps=1"]
    assert main(["--profile", "gpt2-small-smoke", "--output", str(tmp_path / "out"), *short]) == 0
    capsys.readouterr()
    code = main(
        [
            "--profile",
            "gpt2-small-smoke",
            "--output",
            str(tmp_path / "out"),
            "--set",
            "train.model.width=32",
            *short,
        ]
    )
    said = capsys.readouterr().err
    assert code == 5 and "another model" in said
    assert (tmp_path / "out" / "checkpoints" / "step-00000002").exists()
