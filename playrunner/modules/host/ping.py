"""host.ping: does the host answer, with a Python that works?"""

from __future__ import annotations

from playrunner.hostside.module import Failed, Probe

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from playrunner.hostside.host_context import HostContext


class Ping(Probe):
    """Answers pong when the host can be reached and its Python works."""

    data: str = "pong"  # what to answer; "crash" fails on purpose

    def look(self, ctx: HostContext) -> dict[str, Any]:
        if self.data == "crash":
            raise Failed("Task failed: Module failed: boom")
        return {"ping": self.data}
