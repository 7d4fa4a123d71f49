"""Metrics in the output of a script that was not written for this program: lines of JSON, and the
lines that the Hugging Face Trainer, Lightning, nanoGPT and programs like them print."""

from __future__ import annotations

import ast
import json
import math
import re
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from trainer.node.event_files import EventFiles, Scalar

_NUMBER = r"[-+]?(?:\d+\.?\d*(?:[eE][-+]?\d+)?|\.\d+|nan|inf)"
_RANK = re.compile(r"^\[(\d+)(?:-\d+)?\] ")
# `iter 10: loss 4.12, time 12ms` (nanoGPT), `step=10, lr=..., loss=4.1`, `step 3/10  loss 4.1`
_STEP_LOSS = re.compile(
    r"\b(?:iter(?:ation)?|(?:global_)?step)\b\s*[ =:#]\s*(\d+)(?:\s*/\s*(\d+))?\b.{0,120}?"
    rf"(?<!val )(?<!val_)(?<!eval_)(?<!validation )\bloss\b\s*[ =:]\s*({_NUMBER})",
    re.IGNORECASE,
)
_VALIDATION = re.compile(rf"\b(?:val(?:idation)?|eval)[ _]loss\b\s*[ =:]\s*({_NUMBER})", re.I)
# `Epoch 1:  50%|##   | 5/10 [00:00<00:00, 9.9it/s, v_num=0, train_loss=2.300]` (Lightning)
_LIGHTNING = re.compile(
    rf"Epoch (\d+):.*?\| (\d+)/(\d+) \[.*?\b(?:train_)?loss(?:_step)?=({_NUMBER})"
)
_BAR = re.compile(r"^\s*\d+%\|.*\| (\d+)/\d+ \[\d+:\d\d")  # of tqdm, without a title: the steps
_STEPS = ("step", "global_step", "iter", "iteration", "steps")
_LOSSES = ("loss", "train_loss", "train/loss", "training_loss")
# Names that others use, and ours
_NAMES = {
    "learning_rate": "lr",
    "eval/loss": "eval_loss",
    "val_loss": "eval_loss",
    "val/loss": "eval_loss",
    "validation_loss": "eval_loss",
    "tokens_per_sec": "tokens_per_second",
    "tokens/s": "tokens_per_second",
    "train_tokens_per_second": "tokens_per_second",
}
# Tags of event files, in lower case
_EVENT_TAGS = {
    **_NAMES,
    **dict.fromkeys((*_LOSSES, "loss/train", "train_loss_step", "train/train_loss"), "loss"),
    **dict.fromkeys(("loss/val", "loss/valid", "loss/test", "loss/eval"), "eval_loss"),
    "lr-adamw": "lr",
    "train/learning_rate": "lr",
}
_MOST_CHARACTERS = 10_000  # of a line that is looked at


class MetricLines:
    """Lines of rank 0 in, records out; a record has a step, a time and a loss or an evaluation."""

    def __init__(self) -> None:
        self.bar = 0  # where the newest progress bar stands
        self.last = 0
        # A record without a step: the Trainer redraws its bar after each, with the step it is of
        self.waiting: dict[str, Any] | None = None

    def read(self, line: str) -> list[dict[str, Any]]:
        """The records in a line as the log has it: `[0] text`."""
        ranked = _RANK.match(line)
        if not ranked or int(ranked[1]) != 0 or len(line) > _MOST_CHARACTERS:
            return []
        text = line[ranked.end() :]
        if bar := _BAR.match(text):
            self.bar = int(bar[1])
            placed = self._placed()
            if not self.bar:
                self.last = 0  # the script begins again
            return placed
        record = self._mapping(text) if "{" in text else None
        if record and "step" not in record:
            placed, self.waiting = self._placed(), {**record, "time": time.time()}
            return placed
        record = record or self._pattern(text)
        if not record or ("loss" not in record and "eval_loss" not in record):
            return []
        self.last = max(self.last, int(record["step"]))
        return [{**record, "time": record.get("time", time.time())}]

    def _placed(self) -> list[dict[str, Any]]:
        """The record that waited for its step."""
        record, self.waiting = self.waiting, None
        if record is None:
            return []
        self.last = max(self.bar, self.last + ("loss" in record))
        return [{**record, "step": self.last}]

    def _mapping(self, text: str) -> dict[str, Any] | None:
        """A line of JSON, or a dictionary as Python prints it: the Trainer's, which has no step."""
        mapping = _object(text[text.index("{") : text.rindex("}") + 1 if "}" in text else None])
        if mapping is None:
            return None
        numbers = {
            _NAMES.get(str(key), str(key)): number
            for key, value in mapping.items()
            if (number := _number(value)) is not None
        }
        loss = next((numbers[name] for name in _LOSSES if name in numbers), None)
        step = next((numbers[name] for name in _STEPS if name in numbers), None)
        if "train_runtime" in numbers:
            return None  # the Trainer's summary: a mean, not a step's loss
        if step is None and "epoch" not in numbers:
            return None
        record = {name: value for name, value in numbers.items() if name not in (*_LOSSES, *_STEPS)}
        if loss is None and "eval_loss" not in record:
            return None
        if step is not None:
            record["step"] = int(step)
        if loss is not None:
            record["loss"] = loss
        return record

    def _pattern(self, text: str) -> dict[str, Any] | None:
        if match := _LIGHTNING.search(text):
            epoch, done, of = int(match[1]), int(match[2]), int(match[3])
            return {"step": epoch * of + done, "loss": float(match[4]), "epoch": epoch + done / of}
        match = _STEP_LOSS.search(text)
        if not match:
            return None
        record: dict[str, Any] = {"step": int(match[1]), "loss": float(match[3])}
        if match[2]:
            record["steps"] = int(match[2])
        if evaluated := _VALIDATION.search(text):
            # nanoGPT's evaluation repeats the step of a line that comes after it
            return {"step": record["step"], "eval_loss": float(evaluated[1])}
        return record


def metrics_of(output: Path, work: Path) -> ScriptMetrics:
    """Of a script that writes into its run's output folder or where it runs."""
    return ScriptMetrics(output / "metrics.jsonl", EventFiles([output, work]))


class ScriptMetrics:
    """The metrics file of such a run: what its output says is appended; the steps that a resumed
    run takes again are dropped first."""

    def __init__(self, path: Path, events: EventFiles | None = None) -> None:
        self.path, self.lines, self.events = path, MetricLines(), events
        self.printed = False  # its output has a loss: event files would say the same again
        self.reached = -1  # the step of the newest loss; -1 before the first record
        self.news = ""  # what the run should be told of, as a loss that is no number

    def take(self, lines: Iterable[str]) -> str:
        """Write down what these lines say; the news of it."""
        lines = list(lines)
        self.records(lines)
        if not lines:  # a process has ended
            self.take_events()
        return self.news

    def take_events(self) -> list[dict[str, Any]]:
        """What TensorBoard's event files say, written down where neither the output nor
        metrics.log() has said anything."""
        if self.events is None or self.printed or (self.reached < 0 and _is_written(self.path)):
            return []
        taken = records_of(self.events.new_scalars())
        for record in taken:
            self._append(record)
        return taken

    def tick(self) -> None:
        if self.events is not None and self.events.is_due():
            self.take_events()

    def records(self, lines: Iterable[str]) -> list[dict[str, Any]]:
        """What these lines say, written down."""
        self.news, taken = "", []
        for record in (record for line in lines for record in self.lines.read(line)):
            loss = record.get("loss", 0.0)
            if not math.isfinite(loss):
                self.news = f"guard: the loss is {loss} at step {record['step']}"
            finite = {
                key: value
                for key, value in record.items()
                if not isinstance(value, float) or math.isfinite(value)
            }
            self.printed = self.printed or "loss" in record
            self._append(finite)
            taken.append(finite)
        return taken

    def _append(self, record: dict[str, Any]) -> None:
        step = int(record["step"])
        # The ranks may be started again while this process goes on
        repeats = self.reached < 0 or (step < self.reached and "loss" in record)
        self.reached = step if "loss" in record else max(self.reached, 0)
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            if repeats:
                drop_from(self.path, step)
            with self.path.open("a") as file:
                file.write(json.dumps(record) + "\n")
        except OSError:
            pass  # a full disk: the log says so


def records_of(scalars: Iterable[Scalar]) -> list[dict[str, Any]]:
    """Scalars by step, with the names that we use; those of steps without a loss are left out."""
    by_step: dict[int, dict[str, Any]] = {}
    for step, when, tag, value in scalars:
        name = _EVENT_TAGS.get(tag.lower(), tag)
        if math.isfinite(value):
            by_step.setdefault(step, {"step": step, "time": when})[name] = value
    return [by_step[step] for step in sorted(by_step) if {"loss", "eval_loss"} & set(by_step[step])]


def _is_written(path: Path) -> bool:
    try:
        return path.stat().st_size > 0
    except OSError:
        return False


def drop_from(path: Path, step: int) -> None:
    """Drop the records of this step and later ones."""
    try:
        lines = path.read_text().splitlines()
    except OSError:
        return
    kept = [line for line in lines if (_object(line) or {}).get("step", step) < step]
    if len(kept) < len(lines):
        draft = path.with_name(f".{path.name}")
        draft.write_text("".join(f"{line}\n" for line in kept))
        draft.replace(path)


def _object(text: str) -> dict[str, Any] | None:
    for read in (json.loads, ast.literal_eval):
        try:
            found = read(text)
        except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
            continue
        return found if isinstance(found, dict) else None
    return None


def _number(value: Any) -> float | None:
    if isinstance(value, bool):
        return None
    if isinstance(value, int | float):
        return value
    try:
        return float(value) if isinstance(value, str) else None
    except ValueError:
        return None
