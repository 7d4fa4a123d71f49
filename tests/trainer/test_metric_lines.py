"""Metrics in the output of other people's scripts."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from trainer.node.metric_lines import MetricLines, ScriptMetrics


@pytest.mark.parametrize(
    ("lines", "records"),
    [
        (['{"step": 3, "loss": 2.5, "lr": 0.1}'], [(3, 2.5)]),
        (['{"global_step": 3, "train_loss": "2.5"}'], [(3, 2.5)]),
        (["iter 10: loss 4.1234, time 12.00ms, mfu 1.00%"], [(10, 4.1234)]),
        (["step 7/100  loss 3.2000  lr 1.00e-03"], [(7, 3.2)]),
        (["step=7, skipped=0, lr=[0.1], loss=3.2e-1"], [(7, 0.32)]),
        (["Epoch 1:  50%|##  | 5/10 [00:00<00:00, 9.9it/s, v_num=0, train_loss=2.3]"], [(15, 2.3)]),
        (
            [
                " 10%|#         | 1/10 [00:00<00:01,  5.01it/s]",
                "{'loss': 3.4, 'grad_norm': 1.0, 'learning_rate': 4e-05, 'epoch': 0.1}",
                " 20%|##        | 2/10 [00:00<00:01,  5.01it/s]",
                "Writing model shards: 100%|####| 1/1 [00:00<00:00, 218.51it/s]",
                " 30%|###       | 3/10 [00:00<00:01,  5.01it/s]",
                "{'loss': '3.2', 'learning_rate': '2e-05', 'epoch': '0.2'}",
                " 40%|####      | 4/10 [00:00<00:01,  5.01it/s]",
                "{'train_runtime': 0.5, 'train_loss': 3.3, 'epoch': 0.2}",
            ],
            [(2, 3.4), (4, 3.2)],
        ),
        (["loss went down", "step by step", "{not: json", "x" * 20_000], []),
    ],
)
def test_known_formats_are_read_as_they_are(
    lines: list[str], records: list[tuple[int, float]]
) -> None:
    reader = MetricLines()
    found = [record for line in lines for record in reader.read(f"[0] {line}")]
    assert [(record["step"], record["loss"]) for record in found] == records


def test_other_ranks_are_not_read_and_an_evaluation_is_no_training_loss() -> None:
    reader = MetricLines()
    assert reader.read("[1] iter 10: loss 4.1") == []
    assert reader.read("[0] step 250: train loss 1.2, val loss 1.3")[0]["eval_loss"] == 1.3


def test_a_resumed_run_drops_the_steps_it_takes_again(tmp_path: Path) -> None:
    path = tmp_path / "output" / "metrics.jsonl"
    ScriptMetrics(path).take([f"[0] iter {step}: loss 2.0" for step in range(5)])
    news = ScriptMetrics(path).take(["[0] iter 3: loss 1.0", "[0] iter 4: loss nan"])
    assert news == "guard: the loss is nan at step 4"
    steps = [json.loads(line)["step"] for line in path.read_text().splitlines()]
    assert steps == [0, 1, 2, 3, 4]


def test_a_script_that_begins_again_counts_from_its_beginning() -> None:
    reader = MetricLines()
    line = "{'loss': '3.4', 'epoch': '0.1'}"
    once = ["  0%|  | 0/4 [00:00<?, ?it/s]", line, " 50%|# | 2/4 [00:00<00:02, 5.01it/s]"]
    found = [record for text in once * 2 for record in reader.read(f"[0] {text}")]
    assert [record["step"] for record in found] == [2, 2]
