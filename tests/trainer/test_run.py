"""Whole runs, as a user starts them."""

from __future__ import annotations

import math
import signal
from pathlib import Path

import pytest
import torch

from tests.support.trainer.launching import (
    launch,
    launch_several,
    losses,
    records,
    start,
    steps_saved,
    wait_for_step,
)
from trainer.checkpoint.manifest import damage
from trainer.profile import BUNDLED

pytestmark = pytest.mark.processes
# The first decides how the processes of all find one another: Llama's sharding needs a group.
OTHER_SMOKES = sorted(
    {path.stem for path in BUNDLED.glob("*-smoke.yaml")} - {"gpt2-micro-smoke"},
    key=lambda name: (not name.startswith("llama"), name),
)


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


def test_a_run_ends_well_after_the_minutes_it_is_given_at_the_same_step_on_every_rank(
    tmp_path: Path,
) -> None:
    settings = ("train.minutes=0.02", "train.steps=1000000", "train.schedule.decay_steps=1000")
    ended = launch("gpt2-micro-smoke", tmp_path, *settings, processes=2)
    assert ended.code == 0, ended.text
    curve = losses(tmp_path)
    assert steps_saved(tmp_path)[-1] == max(curve) < 1_000_000, "the last step is saved and logged"


def test_every_logged_step_has_its_figures(micro: Path) -> None:
    steps = [each for each in records(micro) if "loss" in each]
    assert [each["step"] for each in steps] == [1, *range(10, 101, 10)]
    for each in steps:
        assert each["tokens_per_second"] > 0 and each["memory_mib"] > 0
        assert each["step_seconds"] > each["data_wait_seconds"] >= 0
    final = records(micro)[-1]
    assert final["eval_ppl"] == pytest.approx(math.exp(final["eval_loss"]))


def test_an_export_loads_with_transformers_and_gives_the_same_logits(
    micro: Path, tmp_path: Path
) -> None:
    from transformers import AutoModelForCausalLM

    from trainer.export import main, read_tensors
    from trainer.models import build
    from trainer.profile import read_profile

    assert main([str(micro), str(tmp_path / "hf")]) == 0
    profile = read_profile("gpt2-micro-smoke")
    ours = build(profile.train).eval()
    ours.load_state_dict(read_tensors(micro / "checkpoints" / "step-00000100", profile))
    theirs = AutoModelForCausalLM.from_pretrained(
        tmp_path / "hf", attn_implementation="eager"
    ).eval()
    tokens = torch.randint(0, 512, (2, 30))
    with torch.no_grad():
        torch.testing.assert_close(ours.logits(tokens), theirs(tokens).logits, atol=1e-4, rtol=1e-4)


def test_a_finished_run_started_again_does_nothing(micro: Path) -> None:
    before = losses(micro)
    assert launch("gpt2-micro-smoke", micro).code == 0
    assert losses(micro) == before


@pytest.fixture(scope="module")
def smokes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    output = tmp_path_factory.mktemp("smokes")
    ended = launch_several(output, [(name, name, ()) for name in OTHER_SMOKES], 1)
    assert ended.code == 0, ended.text
    return output


@pytest.mark.parametrize("profile", OTHER_SMOKES)
def test_every_smoke_profile_trains(profile: str, smokes: Path) -> None:
    curve = losses(smokes / profile)
    assert all(math.isfinite(loss) for loss in curve.values()) and steps_saved(smokes / profile)
    if profile.startswith("mnist"):
        assert records(smokes / profile)[-1]["eval_accuracy"] > 0.5


@pytest.mark.parametrize(("strategy", "processes"), [("ddp", 1), ("deepspeed", 2)])
def test_sigterm_to_any_rank_saves_and_ends_all_well(
    strategy: str, processes: int, tmp_path: Path
) -> None:
    if strategy == "deepspeed":
        pytest.importorskip("deepspeed")
    settings = (
        "train.steps=100000",
        "train.log.every=1",
        "train.checkpoint.every=0",
        f"train.strategy.name={strategy}",
    )
    started = start("gpt2-micro-smoke", tmp_path, *settings, processes=processes)
    wait_for_step(tmp_path, 3, started[0])
    started[-1].send_signal(signal.SIGTERM)
    said = "".join(process.communicate(timeout=120)[0] for process in started)
    assert [process.returncode for process in started] == [0] * processes, said
    (step,) = steps_saved(tmp_path)
    assert step == max(losses(tmp_path)) and f"asked to stop at step {step}" in said
    assert damage(tmp_path / "checkpoints" / f"step-{step:08d}") == ""


@pytest.mark.parametrize(
    ("setting", "reason"),
    [
        (
            "checkpoint.resume=NOWHERE",
            "checkpoint.resume NOWHERE: incomplete, it has no complete.json",
        ),
        ("checkpoint.resume=DAMAGED", "checkpoint.resume DAMAGED: one.bin is missing"),
        ("data.path=NOWHERE", "data.path NOWHERE: no such file or folder"),
    ],
)
def test_what_cannot_be_had_ends_every_rank_with_the_same_line(
    setting: str, reason: str, tmp_path: Path
) -> None:
    (tmp_path / "step-00000005").mkdir()
    (tmp_path / "step-00000005" / "complete.json").write_text(
        '{"step": 5, "files": {"one.bin": [1000, 0]}}'
    )
    setting, reason = (
        text.replace("NOWHERE", str(tmp_path / "nowhere")).replace(
            "DAMAGED", str(tmp_path / "step-00000005")
        )
        for text in (setting, reason)
    )
    source = "text" if "data.path" in setting else "synthetic"
    ended = launch(
        "gpt2-small-smoke",
        tmp_path / "out",
        f"train.{setting}",
        f"train.data.source={source}",
        processes=2,
    )
    assert ended.codes == [5, 5], ended.text
    said = [
        line for line in ended.text.splitlines() if "Gloo" not in line
    ]  # which says that it connected
    assert said == [f"trainer: {reason}"] * 2
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("processes", [1, 2])
def test_a_loss_that_is_no_number_stops_every_rank_and_says_where(
    processes: int, tmp_path: Path
) -> None:
    ended = launch(
        "gpt2-small-smoke",
        tmp_path,
        "train.optimizer.lr=1e30",
        "train.optimizer.grad_clip=0",
        "train.schedule.warmup_steps=0",
        "train.checkpoint.schedule=[]",
        "train.checkpoint.every=1",
        processes=processes,
    )
    assert ended.code == 6, ended.text
    assert ended.text.count("the loss is nan on rank 0; its micro-batch") == processes
    assert "synthetic sample" in ended.text and "Traceback" not in ended.text


def test_data_that_turns_out_bad_on_one_rank_ends_every_rank_with_the_same_line(
    tmp_path: Path,
) -> None:
    h5py = pytest.importorskip("h5py")
    for shard in range(2):
        with h5py.File(tmp_path / f"a_training_{shard}.hdf5", "w") as file:
            tokens = torch.full(
                (8, 32), 5 if shard else 300_000
            )  # no vocabulary of the smoke profile's size has that
            file["input_ids"], file["input_mask"], file["segment_ids"] = (
                tokens,
                tokens * 0 + 1,
                tokens * 0,
            )
            file["masked_lm_positions"], file["masked_lm_ids"] = (
                torch.full((8, 4), 2),
                torch.full((8, 4), 5),
            )
            file["next_sentence_labels"] = torch.zeros(8, dtype=torch.int64)
    ended = launch(
        "bert-large-smoke",
        tmp_path / "out",
        "train.data.source=hdf5",
        f"train.data.path={tmp_path}",
        "train.data.sequence=32",
        "train.data.shuffle=false",
        "train.data.validation_fraction=0",
        "train.batch_size=16",
        "train.device_batch_size=8",
        "train.log.every=1",
        processes=2,
    )
    # The first rank has the first shard's rows, the second the other's.
    said = [line for line in ended.text.splitlines() if line.startswith("trainer: ")]
    assert ended.codes == [5, 5] and len(said) == 2, ended.text
    assert (
        said[0] == said[1]
        and "a_training_0.hdf5: token 300000 is outside model.vocab_size" in said[0]
    )
    assert "Traceback" not in ended.text


def test_text_is_learned_evaluated_and_shown_on_tensorboard(tmp_path: Path) -> None:
    (tmp_path / "text.txt").write_text("to be or not to be that is the question. " * 200)
    (tmp_path / "lambada.jsonl").write_text('{"text": "to be or not to be"}\n')
    ended = launch(
        "gpt2-micro-smoke",
        tmp_path / "out",
        "train.steps=20",
        "train.schedule.warmup_steps=2",
        "train.data.source=text",
        f"train.data.path={tmp_path / 'text.txt'}",
        "train.data.tokenizer=trained",
        "train.data.tokenizer_size=280",
        f"train.evaluate.wikitext={tmp_path / 'text.txt'}",
        f"train.evaluate.lambada={tmp_path / 'lambada.jsonl'}",
        "train.evaluate.stride=32",
        "train.evaluate.batches=2",
        "train.log.tensorboard=true",
        "train.log.activations=true",
    )
    assert ended.code == 0, ended.text
    final = records(tmp_path / "out")[-1]
    assert final["eval_wikitext_ppl"] < 280 and final["eval_lambada_loss"] > 0
    assert list((tmp_path / "out" / "tensorboard").glob("events*"))
    assert "activations/layer1_attention_weight_max" in records(tmp_path / "out")[0]
