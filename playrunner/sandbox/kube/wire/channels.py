"""Several streams over one connection, as exec, attach and port-forward need: what their two wire
forms have in common."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import suppress
from typing import Any, Protocol

from playrunner.sandbox.kube.wire.runtime import Session

STDIN, STDOUT, STDERR, ERROR, RESIZE = range(5)


class Channels(Protocol):
    """A connection with numbered streams."""

    def send(self, channel: int, data: bytes) -> None: ...

    def received(self) -> Iterator[tuple[int, bytes]]:
        """What the client sends; empty when it closes that stream; the end when it is gone."""

    def close(self) -> None: ...


def pump(session: Session, channels: Channels) -> None:
    """Between a command and a client, until the command ends; the last word is its exit code."""
    threading.Thread(target=_feed, args=(session, channels), daemon=True).start()
    with suppress(OSError):
        for number, data in session.output():
            channels.send(number, data)
        channels.send(ERROR, json.dumps(_ending(session.wait())).encode())
        channels.close()


def _feed(session: Session, channels: Channels) -> None:
    with suppress(OSError, ValueError):
        for channel, data in channels.received():
            if channel == STDIN and data:
                session.write(data)
            elif channel == STDIN:
                session.close_input()
            elif channel == RESIZE and data:
                size = json.loads(data)
                session.resize(int(size.get("Width", 80)), int(size.get("Height", 24)))
    session.kill()


def _ending(code: int) -> dict[str, Any]:
    if code == 0:
        return {"metadata": {}, "status": "Success"}
    message = (
        f"command terminated with non-zero exit code: error executing command, exit code {code}"
    )
    causes = [{"reason": "ExitCode", "message": str(code)}]
    return {
        "metadata": {},
        "status": "Failure",
        "message": message,
        "reason": "NonZeroExitCode",
        "details": {"causes": causes},
    }
