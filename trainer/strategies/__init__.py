"""How a model is distributed over processes: one small file each, with the same four functions.

wrap(train, processes) -> Session     the model on its device or sharded, with its optimizer
step(session, batches, counts, step)  forward, backward, clip, update; does not wait for the losses
save(session, folder) -> finish       copies the state; `finish()` writes it, on another thread
load(session, folder)                 restore a saved state, also of another number of ranks
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from trainer.config import Train


def strategy_of(train: Train) -> Any:
    return import_module(f"trainer.strategies.{train.strategy.name}")
