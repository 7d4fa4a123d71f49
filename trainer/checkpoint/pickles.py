"""Pickles that others may have written, read without running what is in them: only what is named
beforehand can be made."""

from __future__ import annotations

import pickle
from collections.abc import Collection
from typing import IO, Any


class Refused(pickle.UnpicklingError):
    """It holds, or is, something else than it should."""


class _Reader(pickle.Unpickler):
    def __init__(self, file: IO[bytes], allowed: Collection[tuple[str, str]]) -> None:
        super().__init__(file)
        self._allowed = allowed

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) not in self._allowed:
            raise Refused(f"it names {module}.{name}, which does not belong there")
        return super().find_class(module, name)

    def persistent_load(self, pid: Any) -> Any:
        raise Refused("it refers to something outside itself")


def read_pickle(file: IO[bytes], allowed: Collection[tuple[str, str]]) -> Any:
    """`allowed`: module and name of each class or function that may be called while reading."""
    try:
        return _Reader(file, allowed).load()
    except Refused:
        raise
    except Exception as error:  # a truncated pickle can raise anything
        raise Refused(f"it cannot be read ({type(error).__name__})") from None
