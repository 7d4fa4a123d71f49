"""What rank 0 writes down: a JSON line per logged step, trackers beside it, a line or a bar on the
terminal."""

from __future__ import annotations

import json
import math
import os
import sys
import time
from pathlib import Path
from typing import Any

from trainer.config import Train
from trainer.errors import NotWritten
from trainer.loop.log_styles import line
from trainer.loop.trackers import Trackers
from trainer.models import parameter_count
from trainer.validate import sequence_length

# Dense bf16 rates from the makers' data sheets, by a part of the device's name.
_PEAK_FLOPS = {
    "H200": 989e12,
    "H100": 989e12,
    "A100": 312e12,
    "L40S": 362e12,
    "A10G": 70e12,
    "T4": 65e12,
}


class Metrics:
    def __init__(
        self, output: Path, train: Train, model: Any, world_size: int, resumed_at: int
    ) -> None:
        self.train, self.world_size = train, world_size
        self.flops_per_token = _flops_per_token(train, parameter_count(model))
        self.file = _reopened(output / "metrics.jsonl", resumed_at)
        self.trackers = Trackers(train, output)
        # Where the file cannot be read from outside (pods), the log carries the metrics
        self.to_log = os.environ.get("TRAINER_METRICS") == "log"
        self.bar = train.log.progress and train.log.style == "plain" and sys.stderr.isatty()
        self.begun = self.since = time.perf_counter()
        self.since_step, self.waited, self.tokens = resumed_at, 0.0, 0.0
        self.phase = ""

    def count(self, waited: float, labels: float) -> None:
        """A step's wait for its batch, and its labels over all ranks."""
        self.waited += waited
        # Padding is no work done: of documents only what is predicted counts
        padded = self.train.data.layout == "documents" and self.train.model.kind != "bert"
        self.tokens += labels if padded else _tokens_per_step(self.train)

    def step(
        self,
        step: int,
        loss: float,
        lr: float,
        grad_norm: float | None,
        device: Any,
        phase: str,
        extra: dict[str, float],
    ) -> None:
        """Write one logged step; rates are means since the one before. Where a phase of the
        schedule begins, its name is written with the step."""
        now = time.perf_counter()
        steps = max(1, step - self.since_step)
        seconds = (now - self.since) / steps
        record: dict[str, Any] = {
            "step": step,
            "loss": loss,
            "lr": lr,
            "grad_norm": grad_norm,
            "tokens_per_second": self.tokens / steps / seconds,
            "samples_per_second": self.train.batch_size / seconds,
            "mfu": self._mfu(seconds, device, step),
            "memory_mib": _memory_mib(device),
            "data_wait_seconds": self.waited / steps,
            "step_seconds": seconds,
            "time": time.time(),
            **extra,
            **({"phase": phase} if phase != self.phase else {}),
        }
        self.phase = phase
        self.since, self.since_step, self.waited, self.tokens = now, step, 0.0, 0.0
        self.write(record)
        text = line(self.train, record, self.world_size)
        if self.bar:
            steps = int(extra.get("last_step", self.train.steps))
            done = 24 * step // steps
            end = "\n" if step == steps else ""
            print(
                f"\r[{'#' * done}{'.' * (24 - done)}] {text}", end=end, file=sys.stderr, flush=True
            )
        else:
            print(text, flush=True)

    def write(self, record: dict[str, Any]) -> None:
        """One line of JSON; a value that is no number is written as null, which JSON has."""
        clean = {
            key: None if isinstance(value, float) and not math.isfinite(value) else value
            for key, value in record.items()
        }
        text = json.dumps(clean)
        if self.file.closed:
            return  # the guard's thread may report a little later
        try:
            self.file.write(text + "\n")
            self.file.flush()
        except OSError as error:
            raise NotWritten(f"{self.file.name}: cannot be written: {error.strerror}") from None
        if self.to_log:
            # One write: torchrun's tail may read in between
            print(f"metrics {text}\n", end="", flush=True)
        self.trackers.write(clean)

    def close(self, failed: bool = False) -> None:
        try:
            self.file.close()
        except OSError:
            pass  # of what could not be written before, which was said
        self.trackers.close(failed)

    def _mfu(self, seconds: float, device: Any, step: int) -> float | None:
        if device.type != "cuda":
            return None
        import torch

        name = torch.cuda.get_device_name(device)
        peak = next((rate for part, rate in _PEAK_FLOPS.items() if part in name), None)
        flops = self.flops_per_token * self.tokens / max(1, step - self.since_step)
        return flops / seconds / (peak * self.world_size) if peak else None


def _reopened(path: Path, resumed_at: int) -> Any:
    """The metrics so far without the steps that will be taken again, so that the curve has no
    doubles."""
    if path.exists():
        kept = []
        for text in path.read_text().splitlines(keepends=True):
            try:
                if text.endswith("\n") and json.loads(text)["step"] <= resumed_at:
                    kept.append(text)
            except (ValueError, KeyError):
                continue  # a line cut short by a crash
        path.write_text("".join(kept) if resumed_at else "")
    return path.open("a", encoding="utf-8")


def _tokens_per_step(train: Train) -> int:
    return train.batch_size * (1 if train.model.kind == "mlp" else sequence_length(train))


def _flops_per_token(train: Train, parameters: int) -> float:
    """Six per parameter, and the attention's own products (not halved for the causal mask)."""
    if train.model.kind == "mlp":
        return 6.0 * parameters
    return 6.0 * parameters + 12.0 * train.model.layers * train.model.width * sequence_length(train)


def _memory_mib(device: Any) -> float:
    if device.type == "cuda":
        import torch

        return torch.cuda.max_memory_allocated(device) / 2**20
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
