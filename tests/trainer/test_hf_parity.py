"""Our strategies against Hugging Face's Trainer: same weights, data, settings; the same losses."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.trainer.launching import ROOT, launch, losses, worst_difference

pytestmark = pytest.mark.processes
SETTINGS = (
    "train.steps=50",
    "train.log.every=1",
    "train.checkpoint.every=0",
    "train.data.validation_fraction=0",
    "train.schedule.name=linear",
    "train.schedule.warmup_steps=5",
    "train.optimizer.lr=1e-3",
    "train.model.upcast_attention=false",
    "train.device_batch_size=8",
)

THEIRS = """
import json, sys, numpy as np, torch
from torch.utils.data import SequentialSampler
from transformers import Trainer, TrainerCallback, TrainingArguments
from pathlib import Path
from trainer.data import open_samples
from trainer.data.order import Order
from trainer.export import _transformers_model
from trainer.models import build, initialise
from trainer.profile import read_profile
train = read_profile("gpt2-micro-smoke", json.loads(sys.argv[1])).train
samples, _ = open_samples(train, Path("."), 1)
numbers = Order(samples, train.seed).numbers(np.arange(train.steps * train.batch_size))
found = samples.take(numbers)
# One token more than our rows: their labels are shifted inside, so that the last ones are the same.
# The first predicts nothing, but is counted unless it is marked.
rows = np.concatenate([found["input"], found["label"][:, -1:]], axis=1)
labels = rows.copy()
labels[:, 0] = -100
data = [{"input_ids": torch.from_numpy(row), "labels": torch.from_numpy(label)}
        for row, label in zip(rows, labels)]
ours = build(train); initialise(ours, train.seed)
from dataclasses import replace
model = _transformers_model(replace(train.model, context=train.model.context + 1))
state = ours.state_dict()
positions = state["transformer.wpe.weight"]
state["transformer.wpe.weight"] = torch.cat([positions, torch.zeros(1, train.model.width)])
model.load_state_dict(state, strict=False); model.tie_weights()
class InOrder(Trainer):
    def _get_train_sampler(self, *_): return SequentialSampler(self.train_dataset)
losses = {}
class Keep(TrainerCallback):
    def on_log(self, args, state, control, logs=None, **_):
        if "loss" in logs: losses[state.global_step] = logs["loss"]
o = train.optimizer
arguments = TrainingArguments("unused", max_steps=train.steps,
    per_device_train_batch_size=train.batch_size, learning_rate=o.lr,
    adam_beta1=o.betas[0], adam_beta2=o.betas[1], adam_epsilon=o.eps,
    weight_decay=o.weight_decay, max_grad_norm=o.grad_clip,
    use_cpu=True, lr_scheduler_type="linear", warmup_steps=train.schedule.warmup_steps,
    logging_steps=1, save_strategy="no",
    report_to=[], disable_tqdm=True)
InOrder(model, arguments, train_dataset=data, callbacks=[Keep()]).train()
print("LOSSES " + json.dumps(losses))
"""


@pytest.fixture(scope="module")
def theirs(tmp_path_factory: pytest.TempPathFactory) -> dict[int, float]:
    pytest.importorskip("transformers")
    pytest.importorskip("accelerate")
    done = subprocess.run(
        [sys.executable, "-c", THEIRS, json.dumps(SETTINGS)],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path_factory.mktemp("theirs"),
        env={**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"},
    )
    found = [line for line in done.stdout.splitlines() if line.startswith("LOSSES ")]
    assert found, done.stderr[-3000:]
    return {int(step): loss for step, loss in json.loads(found[0][7:]).items()}


@pytest.mark.parametrize("strategy", ["ddp", "fsdp", "deepspeed"])
def test_fifty_steps_agree_with_hugging_face_s_trainer(
    strategy: str, theirs: dict[int, float], tmp_path: Path
) -> None:
    if strategy == "deepspeed":
        pytest.importorskip("deepspeed")
    ended = launch("gpt2-micro-smoke", tmp_path, *SETTINGS, f"train.strategy.name={strategy}")
    assert ended.code == 0, ended.text
    assert worst_difference(losses(tmp_path), theirs) < 1e-3
