"""The declared data sets: manifests/datasets.yaml, with what the inventory says of them over it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import field, fields, replace
from pathlib import PurePosixPath
from typing import Any

from playrunner.errors import BadInput, Place
from playrunner.frozen import frozen
from playrunner.project import find
from playrunner.text.did_you_mean import did_you_mean
from playrunner.text.documents import Located, read_yaml
from trainer.config import Data

FILE = "datasets.yaml"
FORMATS = {"hdf5": ("hdf5",), "mnist": ("mnist",), "text": ("folder", "text", "hf")}
_FOLDER = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/-]*")
_SHA256 = re.compile(r"[0-9a-fA-F]{64}")


@frozen
class DataSet:
    """One data set, as it is declared."""

    name: str
    source: str
    into: str
    format: str
    title: str = ""
    files: Mapping[str, str] = field(default_factory=dict)  # name -> SHA-256, "" where unknown
    unpack: bool = False
    anonymous: bool = False
    region: str = ""
    hub: Mapping[str, str] = field(default_factory=dict)  # dataset, config

    def is_read_by(self, data: Data) -> bool:
        if data.source not in FORMATS[self.format]:
            return False
        if data.source == "hf" and not data.path:
            return bool(self.hub) and (data.dataset, data.dataset_config) == (
                self.hub.get("dataset"),
                self.hub.get("config", ""),
            )
        return PurePosixPath(data.path).name == PurePosixPath(self.into).name


def declared(inventory: Any = None) -> dict[str, DataSet]:
    """All of them by name; `inventory` is the value of train_datasets."""
    path = find("manifests", FILE)
    given = read_yaml(path) if path else {}
    if not isinstance(given, dict):
        raise BadInput("data sets are a mapping of names to settings", Place(str(path), 1))
    if inventory is not None and not isinstance(inventory, dict):
        raise BadInput("train_datasets must be a mapping of data sets to their settings")
    merged: dict[str, tuple[dict[str, Any], Place | None]] = {}
    for name, settings in given.items():
        place = given.place(name) if isinstance(given, Located) else None
        merged[str(name)] = (_mapping(settings, str(name), place), place)
    for name, settings in (inventory or {}).items():
        before, place = merged.get(str(name), ({}, None))
        own = _mapping(settings, str(name), None)
        # Another source has other files, unless it says which.
        kept = {
            key: value for key, value in before.items() if "source" not in own or key != "files"
        }
        merged[str(name)] = ({**kept, **own}, place if not own else None)
    return {name: _data_set(name, settings, place) for name, (settings, place) in merged.items()}


def named(sets: Mapping[str, DataSet], name: str) -> DataSet:
    if name in sets:
        return sets[name]
    hint = did_you_mean(name, sets, f"there are {', '.join(sorted(sets))}")
    raise BadInput(f'--dataset "{name}": not declared in manifests/{FILE}{hint}')


def read_by(sets: Mapping[str, DataSet], data: Data) -> DataSet | None:
    return next((each for each in sets.values() if each.is_read_by(data)), None)


def on_mirror(data_set: DataSet, mirror: str) -> DataSet:
    """The same from a server of one's own, which has a folder for each data set."""
    if not mirror:
        return data_set
    base = f"{mirror.rstrip('/')}/{data_set.name}"
    last = data_set.source.rpartition("/")[2]
    if not data_set.files and "." in last:  # one file
        return replace(data_set, source=f"{base}/{last}", region="", anonymous=False)
    return replace(data_set, source=f"{base}/", region="", anonymous=False)


def _mapping(settings: Any, name: str, place: Place | None) -> dict[str, Any]:
    if not isinstance(settings, dict):
        raise BadInput(f"data set {name}: its settings must be a mapping", place)
    return dict(settings)


def _data_set(name: str, settings: dict[str, Any], place: Place | None) -> DataSet:
    where = f"data set {name}"
    known = {each.name for each in fields(DataSet)} - {"name"}
    for key in settings:
        if key not in known:
            hint = did_you_mean(key, known, f"there are {', '.join(sorted(known))}")
            raise BadInput(f'{where}: no setting "{key}"{hint}', place)
    for key in ("source", "into", "format"):
        if not isinstance(settings.get(key), str) or not settings[key]:
            raise BadInput(f"{where}: {key} is missing", place)
    if settings["format"] not in FORMATS:
        raise BadInput(
            f'{where}: format "{settings["format"]}" is none of {", ".join(FORMATS)}', place
        )
    check_folder(settings["into"], f"{where}: into", place)
    files = _mapping(settings.get("files") or {}, f"{name}: files", place)
    for file, digest in files.items():
        if digest and not _SHA256.fullmatch(str(digest)):
            raise BadInput(f"{where}: {file}: {str(digest)[:80]!r} is no SHA-256 in hex", place)
    hub = _mapping(settings.get("hub") or {}, f"{name}: hub", place)
    return DataSet(
        name,
        str(settings["source"]),
        str(settings["into"]),
        str(settings["format"]),
        str(settings.get("title") or name),
        {str(file): str(digest or "").lower() for file, digest in files.items()},
        bool(settings.get("unpack", False)),
        bool(settings.get("anonymous", False)),
        str(settings.get("region") or ""),
        {str(key): str(value) for key, value in hub.items()},
    )


def check_folder(into: str, what: str, place: Place | None = None) -> None:
    if not _FOLDER.fullmatch(into) or ".." in into.split("/"):
        raise BadInput(
            f'{what} "{into}": it is a folder below the claim, as datasets/wikicorpus', place
        )
