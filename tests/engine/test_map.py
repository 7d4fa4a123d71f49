"""The map in playrunner/__init__.py is complete and in layer order, and its rooms stay small."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import playrunner

ROOT = Path(playrunner.__file__).parent
REPOSITORY = ROOT.parent
MOST_LINES = 300
MOST_FILES = 25
MODULE_FOLDERS = (ROOT / "modules", ROOT / "training" / "modules")  # one file per module


def _named_in_map() -> list[str]:
    return re.findall(r"^([a-z_]+)  +\S", playrunner.__doc__ or "", re.MULTILINE)


def _layers() -> list[str]:
    settings = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())
    contracts = settings["tool"]["importlinter"]["contracts"]
    layered = next(
        contract for contract in contracts if contract.get("containers") == ["playrunner"]
    )
    return [str(layer) for layer in layered["layers"]]


def _folders(top: Path) -> list[Path]:
    return sorted({file.parent for file in top.rglob("*.py")})


def test_every_room_and_file_of_the_package_is_named_in_the_map() -> None:
    folders = {path.name for path in ROOT.iterdir() if path.is_dir() and any(path.rglob("*.py"))}
    files = {path.stem for path in ROOT.glob("*.py")} - {"__init__"}
    assert folders | files == set(_named_in_map())


def test_the_map_lists_the_rooms_in_the_order_of_their_layers() -> None:
    layers = _layers()
    assert _named_in_map()[: len(layers)] == layers


def test_no_folder_holds_more_files_than_one_can_look_through() -> None:
    crowded = {
        str(folder.relative_to(REPOSITORY)): len(files)
        for folder in _folders(ROOT) + _folders(REPOSITORY / "trainer")
        if not any(folder.is_relative_to(modules) for modules in MODULE_FOLDERS)
        and len(files := [file for file in folder.glob("*.py") if file.stem != "__init__"])
        > MOST_FILES
    }
    assert crowded == {}


def test_no_file_of_product_tests_or_benchmarks_is_longer_than_one_sitting() -> None:
    long = {
        str(file.relative_to(REPOSITORY)): lines
        for top in ("playrunner", "trainer", "roles", "tests", "benchmarks")
        for file in sorted((REPOSITORY / top).rglob("*.py"))
        if (lines := len(file.read_text().splitlines())) > MOST_LINES
    }
    assert long == {}
