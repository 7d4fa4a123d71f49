"""How a model is spread over processes: one small file each, with the same four functions.

wrap(train, place) -> Session             the model on its device or in pieces, with its optimizer
step(session, batches, counts, step)      forward, backward, clip, move; answers losses without
waiting for them save(session, folder) -> finish           what must happen now; `finish()` does the
rest, on another thread load(session, folder)                     put a saved state back, also one
of another number of ranks
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from trainer.config import Train


def strategy_of(train: Train) -> Any:
    return import_module(f"trainer.strategies.{train.strategy.name}")
