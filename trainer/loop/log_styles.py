"""The console line of a logged step: our own, or one that a guide's parser already reads."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from trainer.config import Train

Record = dict[str, Any]


def line(train: Train, record: Record, world_size: int) -> str:
    return _STYLES[train.log.style](train, record, world_size)


def _plain(train: Train, record: Record, world_size: int) -> str:
    norm, steps = record["grad_norm"], record.get("last_step", train.steps)
    return (
        f"step {record['step']}/{steps}  loss {record['loss']:.4f}  lr {record['lr']:.2e} "
        f" norm {norm if norm is None else format(norm, '.2f')}  {record['tokens_per_second']:,.0f}"
        " tokens/s"
    )


def _fsdp(train: Train, record: Record, world_size: int) -> str:
    stamp = time.strftime("%Y-%m-%d %H:%M:%S")
    return (
        f"{stamp} I [loop.py] Batch {record['step'] - 1} Loss: {record['loss']:.5f},"
        f" Speed: {record['samples_per_second']:.2f} samples/sec, lr: {record['lr']:.6f}"
    )


def _bert(train: Train, record: Record, world_size: int) -> str:
    stamp = time.strftime("%a %b %d %H:%M:%S %Y")
    tail = "" if record["grad_norm"] is None else f" grad-norm : {record['grad_norm']:.4f}"
    return (
        f"LOG {stamp} - ({int(record['epoch'])}, {record['step']}) step_loss : {record['loss']:.4f}"
        f" learning_rate : {record['lr']:.2e} throughput : {record['samples_per_second']:.2f}{tail}"
    )


def _mistral(train: Train, record: Record, world_size: int) -> str:
    shown = {"loss": round(record["loss"], 4), "learning_rate": record["lr"]}
    shown |= {key: value for key, value in record.items() if key.startswith("activations/")}
    first, second = train.optimizer.betas
    rank = (
        f"[Rank 0] step={record['step']}, skipped={record['skipped']}, lr=[{record['lr']}],"
        f" mom=[[{first}, {second}]], SamplesPerSec={record['samples_per_second']:.6f}"
    )
    return f"{shown | {'epoch': round(record['epoch'], 2)}}\n{rank}"


def _elastic(train: Train, record: Record, world_size: int) -> str:
    return (
        f"epoch {int(record['epoch'])} iteration {record['step']}: Last_loss={record['loss']:.2f},"
        f" Avg_cum_loss={record['mean_loss']:.2f}, CLM_loss={record['loss']:.2f},"
        f" Avg_cum_CLM={record['mean_loss']:.2f}"
    )


def _cpu(train: Train, record: Record, world_size: int) -> str:
    seen = int((record["epoch"] % 1) * record["samples"])
    return (
        f"World size: {world_size} Global rank: 0, local rank 0 loss: {record['loss']:>7f}"
        f" [{seen:>5d}/{record['samples']:>5d}]"
    )


def saving(train: Train, epoch: float, step: int) -> str:
    """What is said when a checkpoint is begun."""
    if train.log.style == "elastic":
        return f"---saving checkpoint at epoch:{int(epoch)} and iteration: {step}"
    return f"saving step {step}"


def resuming(train: Train, epoch: float, step: int, folder: object) -> str:
    """What the guides' parsers wait for; the plain style says it before loading."""
    if train.log.style == "elastic":
        return f"---Resuming from epoch: {int(epoch)} and iteration: {step}"
    return f"Loading checkpoint from {folder}" if train.log.style == "fsdp" else ""


def evaluated(train: Train, step: int, figures: dict[str, float]) -> str:
    if train.log.style == "fsdp":
        return f"Batch {step - 1} Validation loss: {figures['eval_loss']:.5f}"
    if train.log.style == "cpu":
        return (
            f"Accuracy: {100 * figures.get('eval_accuracy', 0.0):>0.1f}%, Avg loss:"
            f" {figures['eval_loss']:>8f}"
        )
    shown = "  ".join(
        f"{key} {value:.4f}"
        for key, value in figures.items()
        if not key.endswith(("_runtime", "_second"))
    )
    return f"step {step}  {shown}"


_STYLES: dict[str, Callable[[Train, Record, int], str]] = {
    "plain": _plain,
    "fsdp": _fsdp,
    "bert": _bert,
    "mistral": _mistral,
    "elastic": _elastic,
    "cpu": _cpu,
}
