"""host.slurp: a file's content, in base64."""

from __future__ import annotations

import os

from playrunner.hostside.module import Failed, Probe
from playrunner.modules.host._content import read_bytes
from playrunner.modules.host._paths import expanded

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from playrunner.hostside.host_context import HostContext


class Slurp(Probe):
    """A file's content, in base64."""

    aliases = {"path": "src"}
    answers = {"content": str}

    src: str  # the file to read

    def look(self, ctx: HostContext) -> dict[str, Any]:
        import binascii

        source = expanded(self.src)
        if not os.path.exists(source):
            raise Failed(f"File not found: {source}")
        if os.path.isdir(source):
            raise Failed(
                f"Source is a directory and must be a file: {source}; find lists what is in it"
            )
        if not os.access(source, os.R_OK):
            raise Failed(f"File is not readable: {source}")
        return {
            "content": binascii.b2a_base64(read_bytes(source), newline=False).decode(),
            "source": source,
            "encoding": "base64",
        }
