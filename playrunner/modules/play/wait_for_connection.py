"""play.wait_for_connection: wait until a host can be reached and used."""

from __future__ import annotations

import time
from typing import Any

from playrunner.errors import PlayrunnerError
from playrunner.hostside.module import Failed, Probe
from playrunner.run.context import Context


class WaitForConnection(Probe):
    """Wait until a host can be reached and used."""

    timeout: float = 600  # give up after this many seconds
    delay: float = 0  # seconds before the first try
    sleep: float = 1  # seconds between tries
    connect_timeout: float = 5  # seconds one try may take

    def look(self, ctx: Context) -> dict[str, Any]:
        started = time.monotonic()
        ctx.sleep(self.delay)
        while True:
            try:
                answer, _ = ctx.on_host("host.ping", {})
                if not answer.get("failed"):
                    return {"elapsed": int(time.monotonic() - started)}
                reason = str(answer.get("msg"))
            except PlayrunnerError as error:
                reason = str(error)
                ctx.reset_connection()
            if time.monotonic() - started > self.timeout:
                raise Failed(
                    f"no connection within {self.timeout:g} seconds: {reason}",
                    elapsed=int(time.monotonic() - started),
                )
            ctx.sleep(self.sleep)
