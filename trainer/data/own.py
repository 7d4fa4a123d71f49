"""Data of one's own in place of a profile's: `train.data.path` wins over a hub's data set."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Literal

from trainer.config import Profile

_LEDGER = "ledger.json"  # of a folder of token shards


def with_own_data(profile: Profile) -> Profile:
    """Where a profile names a data set of the hub and a path is given as well, the path is read."""
    data = profile.train.data
    if data.path.startswith("~"):  # a folder below the home of whoever reads it
        data = replace(data, path=str(Path(data.path).expanduser()))
        profile = replace(profile, train=replace(profile.train, data=data))
    if data.source != "hf" or not data.path:
        return profile
    source = _source(Path(data.path))
    own = replace(data, source=source, stream=data.stream and source != "tokens")
    return replace(profile, train=replace(profile.train, data=own))


def _source(path: Path) -> Literal["text", "folder", "tokens"]:
    if path.is_dir():
        return "tokens" if (path / _LEDGER).exists() else "folder"
    return "text"
