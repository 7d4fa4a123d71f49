"""host.assemble: one file put together from the files of a folder, in the order of their names."""

from __future__ import annotations

import os

from playrunner.hostside.module import Failed
from playrunner.modules.host._content import read_bytes
from playrunner.modules.host._delivery import Delivered, entry_of
from playrunner.modules.host._paths import expanded
from playrunner.modules.host._text import compiled

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from playrunner.hostside.host_context import HostContext
    from playrunner.modules.host._delivery import Entry


class Assemble(Delivered):
    """One file put together from the files of a folder, in the order of their names."""

    ships = "src"

    src: Any  # the folder
    remote_src: bool = True  # the folder is on the host; otherwise on the controller
    delimiter: str | None = None  # goes between the pieces
    regexp: str | None = None  # only files whose name matches
    ignore_hidden: bool = False  # leave out files whose name begins with a dot
    header: str | None = None  # goes before the pieces
    footer: str | None = None  # goes after the pieces
    # No takes files of the controller that are encrypted with vault as they are
    decrypt: bool = True

    def entry(self, ctx: HostContext) -> Entry:
        pieces = self._pieces(ctx)
        text = b""
        delimiter = (
            self.delimiter.encode().decode("unicode_escape").encode() if self.delimiter else b""
        )
        for number, piece in enumerate(pieces):
            if number and not pieces[number - 1].endswith(b"\n"):
                text += b"\n"
            if number and delimiter:
                text += delimiter + (b"" if delimiter.endswith(b"\n") else b"\n")
            text += piece
        text = (self.header or "").encode() + text + (self.footer or "").encode()
        name = (
            self.src["name"] if isinstance(self.src, dict) else os.path.basename(expanded(self.src))
        )
        return entry_of(name, text)

    def _pieces(self, ctx: HostContext) -> list[bytes]:
        if isinstance(self.src, dict):
            files = {
                one["path"]: one
                for one in self.src.get("files", ())
                if one["kind"] == "file" and "/" not in one["path"]
            }
            return [ctx.blob(files[name]) for name in self._chosen(files)]
        folder = expanded(self.src)
        if not os.path.isdir(folder):
            raise Failed(
                f"Source ({folder}) does not exist"
                if not os.path.exists(folder)
                else f"Source ({folder}) is not a directory"
            )
        names = [name for name in os.listdir(folder) if os.path.isfile(os.path.join(folder, name))]
        return [read_bytes(os.path.join(folder, name)) for name in self._chosen(names)]

    def _chosen(self, names: Any) -> list[str]:
        pattern = compiled(self.regexp, "regexp") if self.regexp else None
        return [
            name
            for name in sorted(names)
            if (not pattern or pattern.search(name))
            and not (self.ignore_hidden and name.startswith("."))
        ]
