"""Loss curves on one GPU: what the fast path and float8 change of them."""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]


def words(text: str) -> list[str]:
    return text.split()


# The peers' batch and shape, without dropout.
OURS = words("""
    train.steps=100 train.batch_size=64 train.device_batch_size=64 train.device=cuda
    train.strategy.name=ddp train.model.dropout=0.0
    train.checkpoint.schedule=[]
    train.checkpoint.every=0 train.checkpoint.at_start=false
    train.data.validation_fraction=0 train.log.every=20
    train.log.style=plain train.schedule.warmup_steps=10
""")


def correctness(settings: list[str]) -> dict[str, Any]:
    """The fast path beside plain fp32 for 100 steps of 64 x 1024 tokens of Python's own library, as
    gpt2-small warms up.

    Plain bf16 autocast beside the same says how much of the difference is bf16's own: where the
    loss falls steeply, as on made-up data under a short warm-up, any rounding shifts the curve by
    several per cent.
    """
    plain_path = words("train.fast=off")
    rows = {
        "fast": [],
        "autocast": [*plain_path, "train.precision=bf16"],
        "exact": [*plain_path, "train.precision=fp32"],
    }
    curves = {}
    with tempfile.TemporaryDirectory() as folder:
        text = _library_text(Path(folder))
        for name, extra in rows.items():
            curves[name] = _losses([f"train.data.path={text}", *extra, *settings])
            if isinstance(curves[name], str):
                return {"error": curves[name]}
    exact: Any = curves["exact"]
    return {name: _difference(curves[name], exact) for name in ("fast", "autocast")} | {
        "first": exact[0],
        "last": exact[-1],
    }


def float8_curve(settings: list[str]) -> dict[str, Any]:
    """500 steps of the same text in fp8 and in bf16, no token twice; the loss of each is the mean
    of its last 50 steps, since single steps differ by more than precision does."""
    means = {}
    with tempfile.TemporaryDirectory() as folder:
        text = _library_text(Path(folder), most=48_000_000)
        for name in ("bf16", "fp8"):
            losses = _losses(
                [
                    f"train.data.path={text}",
                    "train.steps=500",
                    "train.batch_size=16",
                    "train.device_batch_size=16",
                    f"train.precision={name}",
                    "train.schedule.warmup_steps=100",
                    *settings,
                ]
            )
            if isinstance(losses, str):
                return {"error": losses}
            means[name] = statistics.mean(losses[-50:])
    return {**means, "relative": abs(means["fp8"] / means["bf16"] - 1)}


def _library_text(folder: Path, most: int = 0) -> Path:
    """Python's own library; with `most`, also that many characters of the packages beside it."""
    text = folder / "library.txt"
    sources = sorted(Path(sysconfig.get_path("stdlib")).glob("*.py"))
    if most:
        sources += sorted(Path(sysconfig.get_path("purelib")).rglob("*.py"))
    size = 0
    with text.open("w") as file:
        for source in sources:
            size += file.write(source.read_text(errors="replace") + "\n")
            if most and size > most:
                break
    return text


def _losses(settings: list[str]) -> list[float] | str:
    learnable = words(
        """train.steps=100 train.log.every=1 train.data.source=text train.data.tokenizer=trained
        train.schedule.warmup_steps=4000 train.schedule.decay_steps=400000"""
    )
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "trainer", "--profile", "gpt2-small", "--output", folder]
        for setting in [*OURS, *learnable, *settings]:
            command += ["--set", setting]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
        if done.returncode:
            return (done.stdout + done.stderr)[-3000:]
        records = [
            json.loads(line) for line in (Path(folder) / "metrics.jsonl").read_text().splitlines()
        ]
    return [each["loss"] for each in records if "loss" in each]


def _difference(losses: Any, exact: list[float]) -> dict[str, float]:
    relative = [abs(one - other) / other for one, other in zip(losses, exact, strict=True)]
    worst = max(relative)
    place = relative.index(worst)
    return {
        "largest": worst,
        "at_step": place + 1,
        "where_loss_is": exact[place],
        "mean": statistics.mean(relative),
    }
