"""A module as it is sent to hosts: its own code in one pack, Ansible's basic library in another.

Compiling takes longer than anything else here, so packs are kept in the user's cache folder under
the hash of what they are made of.
"""

from __future__ import annotations

import hashlib
import importlib.util
import marshal
import os
import sys
import threading
import zlib
from collections.abc import Iterable
from functools import cache
from pathlib import Path

from playrunner.frozen import frozen
from playrunner.plugins import early_imports, folders, imports
from playrunner.plugins.module_files import OLD_INCLUDE, ModuleFile
from playrunner.text.atomic_write import write_bytes

MAGIC = importlib.util.MAGIC_NUMBER.hex()
_FORMAT = b"2"  # of a pack; another one makes others
_making = threading.Lock()  # many hosts ask for the same module at the same moment
_File = tuple[str, bool, bytes]


@frozen
class Pack:
    """Importable code: compiled for this version of Python, and as source for others."""

    compiled: bytes
    source: bytes


def packs_of(module: ModuleFile) -> tuple[Pack, Pack]:
    """The packs of Ansible's basic library and of the module itself."""
    with _making:
        return _packs_of(module, folders.folders("module_utils"))


@cache
def _packs_of(module: ModuleFile, utils: tuple[Path, ...]) -> tuple[Pack, Pack]:
    source = module.path.read_bytes().replace(
        OLD_INCLUDE, b"from ansible.module_utils.basic import *"
    )
    library = imports.library_files(())
    own = imports.files_of(source, module.dotted, library, utils)
    files = [(file.name, file.package, file.text()) for file in own.values()]
    return _library(), _pack([*files, (module.dotted, False, source)], module.dotted)


@cache
def _library() -> Pack:
    return _pack(
        (file.name, file.package, _version() if file.name == "ansible" else file.text())
        for file in imports.library_files(()).values()
    )


@cache
def _version() -> bytes:
    return f"__version__ = {ansible_version()!r}\n__author__ = 'Ansible, Inc.'\n".encode()


@cache
def ansible_version() -> str:
    from importlib import metadata

    try:
        return metadata.version("ansible-core")
    except metadata.PackageNotFoundError:
        return "2.19.0"


def _pack(files: Iterable[_File], main: str = "") -> Pack:
    """A pack of files; with the module that is run, also what its imports will ask the host for."""
    listed = sorted(files)
    name = hashlib.sha256(marshal.dumps((_FORMAT, MAGIC, sys.version, listed), 4)).hexdigest()
    source = zlib.compress(
        marshal.dumps(([], [(file, package, b"s" + text) for file, package, text in listed]), 4), 1
    )
    path = _cache_folder() / name
    try:
        compiled = path.read_bytes()
    except OSError:
        compiled = _compiled(listed, main)
        _store(path, compiled)
    return Pack(compiled, source)


def _compiled(files: list[_File], main: str) -> bytes:
    import ast

    parts, trees = [], {}
    for name, package, text in files:
        try:
            tree = ast.parse(text)
            code = compile(tree, f"<{name}>", "exec", dont_inherit=True)
        except (SyntaxError, ValueError):  # for another Python; the host says what is wrong with it
            parts.append((name, package, b"s" + text))
            continue
        parts.append((name, package, b"\0" + marshal.dumps(code, 4)))
        trees[name] = early_imports.imports_of(tree, name, package)
    return zlib.compress(marshal.dumps((early_imports.foreign(trees, main), parts), 4), 6)


def _cache_folder() -> Path:
    import platformdirs

    return Path(platformdirs.user_cache_dir("playrunner")) / "modules"


def _store(path: Path, data: bytes) -> None:
    try:
        os.makedirs(path.parent, 0o700, exist_ok=True)
        write_bytes(path, data, 0o600, durable=False)
    except OSError:
        pass  # kept only to save time
