"""The fork server of a fleet, seen from its SSH server."""

from __future__ import annotations

import asyncio
import itertools
import json
import socket
import subprocess
from pathlib import Path
from typing import Any


class Forks:
    """The fork server, seen from the SSH server."""

    def __init__(self, python: str) -> None:
        self._channel, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        program = str(Path(__file__).with_name("fork_server.py"))
        self.process = subprocess.Popen(
            [python, "-IS", program, str(theirs.fileno())], pass_fds=[theirs.fileno()]
        )
        theirs.close()
        self._numbers = itertools.count()
        self._ended: dict[int, Any] = {}
        asyncio.get_running_loop().add_reader(self._channel, self._hear)

    def start(self, code: str, before: str, home: str, fds: list[int], ended: Any) -> None:
        number = next(self._numbers)
        self._ended[number] = ended
        request = {"id": number, "code": code, "before": before, "home": home}
        socket.send_fds(self._channel, [json.dumps(request).encode()], fds)

    def _hear(self) -> None:
        answer = json.loads(self._channel.recv(4096) or b"{}")
        if answer:
            self._ended.pop(answer["id"])(answer["status"])
