"""Where a run looks for its data: the profile's own path, then where its data set is staged to."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from playrunner.errors import PlayrunnerError
from playrunner.options import Options
from playrunner.project import program
from playrunner.training.data.declared import declared, read_by
from trainer.config import Profile


def candidates(profile: Profile, base: str, variable: Callable[[str], Any]) -> list[str]:
    """Paths, best first; none where nothing is read from a file. `base` is the folder of staged
    data."""
    data = profile.train.data
    if data.source == "synthetic":
        return []
    try:
        sets = declared(variable("train_datasets"))
    except PlayrunnerError:  # a rehearsal's stand-ins, which are not served yet
        sets = declared()
    data_set = read_by(sets, data)
    staged = [f"{base}/{data_set.into}"] if data_set and base else []
    return list(dict.fromkeys([*([data.path] if data.path else []), *staged]))


def is_optional(profile: Profile) -> bool:
    """A data set of the hub is read from there unless it is staged."""
    return profile.train.data.source == "hf" and not profile.train.data.path


def reading(profile: Profile, path: str) -> Profile:
    """The same profile with its data there."""
    data = replace(profile.train.data, path=path)
    return replace(profile, train=replace(profile.train, data=data))


def instead(profile: Profile, path: str) -> str:
    """What to say of a staged copy that takes the place of the hub's data set."""
    return (
        f"data: {path}, which is staged, is read instead of {profile.train.data.dataset} of the hub"
    )


def remedy(profile_name: str, options: Options) -> str:
    where = "".join(f" --inventory {source}" for source in options.inventory)
    return f"bring it with: {program()} train.stage --profile {profile_name}{where}"
