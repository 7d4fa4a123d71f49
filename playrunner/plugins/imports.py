"""What a module imports of Ansible's library and of collections, found in the text of its files."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

from playrunner.plugins import collections, folders

_IMPORT = re.compile(
    rb"^[ \t]*(?:from[ \t]+([\w.]+)[ \t]+import[ \t]+(\([^)]*\)|[^\n;#]*(?:\\\n[^\n;#]*)*)"
    rb"|import[ \t]+([^\n;#]+))",
    re.MULTILINE,
)
_WORD = re.compile(rb"\w+")
_COMMENT = re.compile(rb"#[^\n]*")
_LIBRARY = "ansible.module_utils"
# Imported by a name that is only made when a module runs
_BY_NAME = (
    "ansible.module_utils._internal._json._profiles._module_legacy_c2m",
    "ansible.module_utils._internal._json._profiles._module_legacy_m2c",
    "ansible.module_utils.six",
)


class SourceFile(NamedTuple):
    """One importable file."""

    name: str
    package: bool
    path: Path | None  # None for a package without content

    def text(self) -> bytes:
        return _text(self.path) if self.path else b""


def library_files(utils: tuple[Path, ...]) -> dict[str, SourceFile]:
    """What every module in Python needs: Ansible's basic library."""
    return _closure(("ansible.module_utils.basic", *_BY_NAME), b"", "", utils)


def files_of(
    source: bytes, dotted: str, without: dict[str, SourceFile], utils: tuple[Path, ...]
) -> dict[str, SourceFile]:
    """What a module needs beside the basic library."""
    found = _closure((), source, dotted, utils)
    return {name: file for name, file in found.items() if without.get(name) != file}


def _closure(
    names: tuple[str, ...], source: bytes, dotted: str, utils: tuple[Path, ...]
) -> dict[str, SourceFile]:
    files: dict[str, SourceFile] = {}
    waiting = [*names, *_imported(source, dotted, False)]
    while waiting:
        name = waiting.pop()
        if name in files:
            continue
        file = _located(name, utils)
        if file is None:
            continue
        files[name] = file
        waiting.append(name.rpartition(".")[0])
        waiting += _imported_by(file)
    return files


@cache
def _imported_by(file: SourceFile) -> tuple[str, ...]:
    return tuple(_imported(file.text(), file.name, file.package))


def _imported(text: bytes, name: str, package: bool) -> Iterator[str]:
    """Every name that an import may mean; those that are no modules are sorted out later."""
    for base, names, plain in _IMPORT.findall(text):
        if plain:
            for part in plain.split(b","):
                yield from _relevant(part.split()[0].decode() if part.split() else "")
            continue
        parent = _absolute(base.decode(), name, package)
        if not _relevant(parent) and parent not in ("ansible", "ansible_collections"):
            continue
        yield parent
        for leaf in _WORD.findall(_COMMENT.sub(b"", names)):
            yield from _relevant(f"{parent}.{leaf.decode()}")


def _relevant(name: str) -> list[str]:
    return [name] if name.startswith((_LIBRARY, "ansible_collections.")) else []


def _absolute(base: str, name: str, package: bool) -> str:
    level = len(base) - len(base.lstrip("."))
    if not level:
        return base
    parts = name.split(".")
    kept = parts[: len(parts) - level + package]
    return ".".join([*kept, *([base[level:]] if base[level:] else [])])


@cache
def _located(name: str, utils: tuple[Path, ...]) -> SourceFile | None:
    if name in ("ansible", "ansible_collections"):
        return SourceFile(name, True, None)
    if name.startswith("ansible_collections."):
        return _in_collection(name)
    rest = name.removeprefix("ansible.module_utils").lstrip(".").replace(".", "/")
    if not name.startswith(_LIBRARY):
        return None
    if not rest:
        return SourceFile(name, True, None)
    core = collections.ansible_folder()
    bases = [*utils, *([core / "module_utils"] if core else [])]
    return next((file for base in bases if (file := _file(name, base / rest))), None)


def _in_collection(name: str) -> SourceFile | None:
    parts = name.split(".")
    if len(parts) < 3 or len(parts) == 3:
        return SourceFile(name, True, None)
    folder = collections.collection_folder(".".join(parts[1:3]))
    if folder is None:
        return None
    file = _file(name, folder.joinpath(*parts[3:]))
    if file is None and parts[3:5] == ["plugins", "module_utils"] and len(parts) > 5:
        return _redirect(name, parts)
    return file


def _redirect(name: str, parts: list[str]) -> SourceFile | None:
    """A file that meta/runtime.yml says has moved: the old name with the new file's content."""
    full = f"{parts[1]}.{parts[2]}.{'.'.join(parts[5:])}"
    target = collections.redirected("module_utils", full)
    if target == full:
        return None
    collection, leaf = collections.split_name(target)
    moved = (
        f"ansible_collections.{collection}.plugins.module_utils.{leaf}"
        if collection != collections.BUILTIN
        else f"{_LIBRARY}.{leaf}"
    )
    file = _located(moved, folders.folders("module_utils"))
    return SourceFile(name, file.package, file.path) if file else None


def _file(name: str, stem: Path) -> SourceFile | None:
    plain = stem.with_name(f"{stem.name}.py")
    if (stem / "__init__.py").is_file():
        return SourceFile(name, True, stem / "__init__.py")
    if plain.is_file():
        return SourceFile(name, False, plain)
    return SourceFile(name, True, None) if stem.is_dir() else None


@cache
def _text(path: Path) -> bytes:
    return path.read_bytes()
