"""For training scripts: `from playrunner import metrics; metrics.log(step=10, loss=2.3)`.

Needs nothing but Python, and is on the path of every script that train.launch starts. Only rank 0
writes. Outside a run the values are printed as a line of JSON.
"""

from __future__ import annotations

import json
import math
import os
import time

_begun = False


def log(step: int, **values: float) -> None:
    """Numbers of one optimizer step: loss, lr, tokens_per_second, eval_loss or any others."""
    global _begun
    if os.environ.get("RANK", "0") != "0":
        return
    numbers = {name: float(value) for name, value in values.items()}
    path = os.environ.get("PLAYRUNNER_METRICS", "")
    for name, value in numbers.items():
        if name == "loss" and not math.isfinite(value):
            print(f"guard: the loss is {value} at step {int(step)}", flush=True)
    finite = {name: value for name, value in numbers.items() if math.isfinite(value)}
    line = json.dumps({"step": int(step), "time": time.time(), **finite})
    if not path:
        print(line, flush=True)
        return
    if not _begun:
        _drop_from(path, int(step))
        _begun = True
    with open(path, "a", encoding="utf-8") as file:
        file.write(line + "\n")


def _drop_from(path: str, step: int) -> None:
    """A resumed run takes some steps again; those of before go."""
    os.makedirs(os.path.dirname(path), exist_ok=True)
    try:
        with open(path, encoding="utf-8") as file:
            lines = file.readlines()
    except OSError:
        return
    kept = [line for line in lines if _step(line) < step]
    if len(kept) < len(lines):
        with open(f"{path}.draft", "w", encoding="utf-8") as file:
            file.writelines(kept)
        os.replace(f"{path}.draft", path)


def _step(line: str) -> float:
    try:
        return float(json.loads(line)["step"])
    except (ValueError, KeyError, TypeError):
        return math.inf
