"""The tokenizer's file, kept in every checkpoint, so that a checkpoint alone makes a usable
model."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

from trainer.config import Train

NAME = "tokenizer.json"


def tokenizer_file(train: Train, output: Path) -> Path | None:
    """Where the profile's tokenizer lies on this machine; nothing for bytes, which need no file,
    and for names of the hub."""
    if train.data.tokenizer == "bytes" or train.model.kind == "mlp":
        return None
    if train.data.tokenizer == "trained":
        from trainer.data.prepare import store_folder

        file = store_folder(train, train.data, output, "train") / NAME
    else:
        given = Path(train.data.tokenizer)
        file = given / NAME if given.is_dir() else given
    return file if file.is_file() else None


def with_tokenizer(
    finish: Callable[[], None], tokenizer: Path | None, folder: Path
) -> Callable[[], None]:
    """What completes a checkpoint, and the tokenizer with it."""
    if tokenizer is None:
        return finish

    def both() -> None:
        finish()
        shutil.copyfile(tokenizer, folder / NAME)

    return both
