"""Whole runs, as a user starts them."""

from __future__ import annotations

import math
import signal
import time
from pathlib import Path

import pytest
import torch

from tests.trainer.launching import launch, losses, records, start, steps_saved
from trainer.checkpoint import damage
from trainer.profile import BUNDLED

pytestmark = pytest.mark.processes
SMOKES = sorted(path.stem for path in BUNDLED.glob("*-smoke.yaml"))


@pytest.fixture(scope="module")
def micro(tmp_path_factory: pytest.TempPathFactory) -> Path:
    output = tmp_path_factory.mktemp("micro")
    ended = launch("trainer/profiles/gpt2-micro-smoke.yaml", output)
    assert ended.code == 0, ended.text
    return output


def test_micro_learns_and_leaves_whole_checkpoints(micro: Path) -> None:
    curve = losses(micro)
    assert curve[1] - curve[100] >= 1.0
    assert steps_saved(micro) == [50, 100]
    assert not any(damage(path) for path in (micro / "checkpoints").iterdir())


def test_every_logged_step_has_its_figures(micro: Path) -> None:
    steps = [each for each in records(micro) if "loss" in each]
    assert [each["step"] for each in steps] == [1, *range(10, 101, 10)]
    for each in steps:
        assert each["tokens_per_second"] > 0 and each["memory_mib"] > 0
        assert each["step_seconds"] > each["data_wait_seconds"] >= 0
    final = records(micro)[-1]
    assert final["eval_ppl"] == pytest.approx(math.exp(final["eval_loss"]))


def test_an_export_loads_with_transformers_and_gives_the_same_logits(micro: Path, tmp_path: Path) -> None:
    from transformers import AutoModelForCausalLM

    from trainer.export import main, read_tensors
    from trainer.models import build
    from trainer.profile import read_profile

    assert main([str(micro), str(tmp_path / "hf")]) == 0
    profile = read_profile("gpt2-micro-smoke")
    ours = build(profile.train).eval()
    ours.load_state_dict(read_tensors(micro / "checkpoints" / "step-00000100", profile))
    theirs = AutoModelForCausalLM.from_pretrained(tmp_path / "hf", attn_implementation="eager").eval()
    tokens = torch.randint(0, 512, (2, 30))
    with torch.no_grad():
        torch.testing.assert_close(ours.logits(tokens), theirs(tokens).logits, atol=1e-4, rtol=1e-4)


def test_a_finished_run_started_again_does_nothing(micro: Path) -> None:
    before = losses(micro)
    assert launch("gpt2-micro-smoke", micro).code == 0
    assert losses(micro) == before


@pytest.mark.parametrize("profile", [name for name in SMOKES if name != "gpt2-micro-smoke"])
def test_every_smoke_profile_trains(profile: str, tmp_path: Path) -> None:
    ended = launch(profile, tmp_path)
    assert ended.code == 0, ended.text
    curve = losses(tmp_path)
    assert all(math.isfinite(loss) for loss in curve.values()) and steps_saved(tmp_path)
    if profile.startswith("mnist"):
        assert records(tmp_path)[-1]["eval_accuracy"] > 0.5


def test_sigterm_saves_and_ends_well(tmp_path: Path) -> None:
    settings = ("train.steps=100000", "train.log.every=1", "train.checkpoint.every=0")
    (process,) = start("gpt2-micro-smoke", tmp_path, *settings)
    _wait_for_step(tmp_path, 3)
    process.send_signal(signal.SIGTERM)
    said, _ = process.communicate(timeout=120)
    assert process.returncode == 0, said
    (step,) = steps_saved(tmp_path)
    assert step == max(losses(tmp_path)) and f"asked to stop at step {step}" in said


@pytest.mark.parametrize("processes", [1, 2])
def test_a_loss_that_is_no_number_stops_every_rank_and_says_where(processes: int, tmp_path: Path) -> None:
    ended = launch("gpt2-small-smoke", tmp_path, "train.optimizer.lr=1e30", "train.optimizer.grad_clip=0",
                   "train.schedule.warmup_steps=0", "train.checkpoint.schedule=[]", "train.checkpoint.every=1",
                   processes=processes)
    assert ended.code == 6, ended.text
    assert ended.text.count("the loss is nan on rank 0; its micro-batch") == processes
    assert "synthetic sample" in ended.text and "Traceback" not in ended.text


def test_text_is_learned_evaluated_and_shown_on_tensorboard(tmp_path: Path) -> None:
    (tmp_path / "text.txt").write_text("to be or not to be that is the question. " * 200)
    (tmp_path / "lambada.jsonl").write_text('{"text": "to be or not to be"}\n')
    ended = launch(
        "gpt2-micro-smoke", tmp_path / "out", "train.steps=20", "train.schedule.warmup_steps=2", "train.data.source=text",
        f"train.data.path={tmp_path / 'text.txt'}", "train.data.tokenizer=trained", "train.data.tokenizer_size=280",
        f"train.evaluate.wikitext={tmp_path / 'text.txt'}", f"train.evaluate.lambada={tmp_path / 'lambada.jsonl'}",
        "train.evaluate.stride=32", "train.evaluate.batches=2", "train.log.tensorboard=true", "train.log.activations=true")
    assert ended.code == 0, ended.text
    final = records(tmp_path / "out")[-1]
    assert final["eval_wikitext_ppl"] < 280 and final["eval_lambada_loss"] > 0
    assert list((tmp_path / "out" / "tensorboard").glob("events*"))
    assert "activations/layer1_attention_weight_max" in records(tmp_path / "out")[0]


def _wait_for_step(output: Path, step: int, seconds: float = 120) -> None:
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        if (output / "metrics.jsonl").exists() and max(losses(output), default=0) >= step:
            return
        time.sleep(0.1)
    raise AssertionError(f"no step {step} after {seconds} s")
