"""Text files of which a module keeps some lines: everything else in them stays as it is."""

from __future__ import annotations

import os

from playrunner.hostside.module import Module
from playrunner.modules.host import _paths
from playrunner.modules.host._content import read_bytes, refuse, sha1_of, stat_of, write

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Optional

    from playrunner.hostside.host_context import HostContext
    from playrunner.hostside.state import Change, State


class LinesOfFile(Module):
    """A module whose thing is some lines of one file; `edited` says what the file should be."""

    def file(self) -> str:
        """The file's path, with links followed."""
        raise NotImplementedError

    def edited(self, ctx: HostContext, lines: list[str]) -> list[str]:
        """The lines as they should be, given those that are there."""
        raise NotImplementedError

    def attributes(self, found: Optional[State]) -> State:
        """Mode and owner for a file that has to be made or changed."""
        return {}

    def observe(self, ctx: HostContext) -> State | None:
        path = self.file()
        data = read_bytes(path) if stat_of(path) else b""
        ctx.memory["text"] = data.decode("utf-8", "surrogateescape")
        return _paths.look(ctx, path, data=data)

    def desired(self, ctx: HostContext, current: State | None) -> State | None:
        before = ctx.memory["text"].splitlines()
        after = self.edited(ctx, before)
        if after == before:
            return current and {"kind": current["kind"]}
        data = ctx.memory["data"] = encoded(after)
        return {
            **self.attributes(current),
            **_paths.file_state(ctx, sha1_of((data,)), current, data),
        }

    def apply(self, ctx: HostContext, change: Change) -> None:
        data: Optional[bytes] = ctx.memory.get("data")  # none when an earlier state is put back
        _paths.apply_change(ctx, self.file(), change, None if data is None else (data,))


def encoded(lines: list[str]) -> bytes:
    return "".join(line + "\n" for line in lines).encode("utf-8", "surrogateescape")


def split_quoted(text: str) -> list[str]:
    """Words separated by blanks; blanks between double quotes do not separate."""
    parts, word, quoted = [], "", False
    for sign in text:
        if sign == '"':
            quoted = not quoted
        if sign in " \t" and not quoted:
            if word:
                parts.append(word)
            word = ""
        else:
            word += sign
    return [*parts, word] if word else parts


def read_lines(path: str) -> list[str]:
    """A small configuration file's lines; none when it is not there."""
    if stat_of(path, follow=True) is None:
        return []
    return read_bytes(path).decode("utf-8", "surrogateescape").splitlines()


def write_lines(
    ctx: HostContext, path: str, lines: list[str], attributes: Optional[State] = None
) -> None:
    try:
        write(ctx, os.path.realpath(path), (encoded(lines),), attributes or {})
    except OSError as error:
        refuse(error, path)
