"""host.slurp: a file's content, in base64."""

from __future__ import annotations

import os
import stat

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
        try:
            info = os.stat(source)
        except FileNotFoundError:
            raise Failed(f"File not found: {source}") from None
        except PermissionError:
            raise Failed(f"File is not readable: {source}") from None
        except OSError as error:
            raise Failed(f"Unable to slurp file: {source}: {error.strerror}") from None
        if not os.access(source, os.R_OK):
            raise Failed(f"File is not readable: {source}")
        if stat.S_ISDIR(info.st_mode):
            raise Failed(
                f"Source is a directory and must be a file: {source}; find lists what is in it"
            )
        return {
            "content": binascii.b2a_base64(read_bytes(source), newline=False).decode(),
            "source": source,
            "encoding": "base64",
        }
