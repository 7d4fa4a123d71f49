"""Some small text files that belong together, such as the lists of package sources: their state is
path to text, None where there is no file."""

from __future__ import annotations

import os

from playrunner.hostside.module import Module
from playrunner.modules.host._content import read_bytes, refuse, stat_of, write

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Optional

    from playrunner.hostside.host_context import HostContext
    from playrunner.hostside.state import Change, State


class TextFiles(Module):
    """A module whose state is the text of some files, under `files`."""

    def file_attributes(self, path: str) -> State:
        """Mode and owner for a file that is written."""
        return {}

    def apply(self, ctx: HostContext, change: Change) -> None:
        before: dict[str, Any] = (change.before or {}).get("files", {})
        after: dict[str, Any] = (change.after or {}).get("files", {})
        for path, text in after.items():
            if before.get(path) != text:
                put_text(ctx, path, text, self.file_attributes(path))


def put_text(ctx: HostContext, path: str, text: Optional[str], attributes: State) -> None:
    """Write a file through links, or remove it when its text is None."""
    try:
        if text is None:
            if os.path.lexists(path):
                os.unlink(path)
            return
        data = text.encode("utf-8", "surrogateescape")
        write(ctx, os.path.realpath(path), (data,), attributes)
    except OSError as error:
        refuse(error, path)


def text_at(path: str) -> Optional[str]:
    if stat_of(path, follow=True) is None or not os.path.isfile(path):
        return None
    return read_bytes(path).decode("utf-8", "surrogateescape")
