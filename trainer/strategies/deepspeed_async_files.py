"""The files DeepSpeed's engine would write at once, held back and written when it suits."""

from __future__ import annotations

import os
from typing import Any

import torch
from deepspeed.runtime.checkpoint_engine.torch_checkpoint_engine import TorchCheckpointEngine

from trainer.strategies.host_snapshot import copied_aside


class FilesAside(TorchCheckpointEngine):  # type: ignore[misc]
    """Takes the place of the engine's own writer while a checkpoint is made."""

    def __init__(self) -> None:
        super().__init__()
        self._held: list[tuple[Any, str]] = []

    def save(self, state_dict: Any, path: str) -> None:
        self._held.append((copied_aside(state_dict), path))

    def write(self) -> None:
        for state, path in self._held:
            with open(path, "wb") as file:
                torch.save(state, file)
                file.flush()
                os.fsync(file.fileno())
        self._held.clear()
