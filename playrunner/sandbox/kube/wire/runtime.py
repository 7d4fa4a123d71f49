"""What runs in pods: the one thing that the API asks of whoever runs them."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol

from playrunner.sandbox.kube.schema.problems import Refusal

Pod = dict[str, Any]


@dataclass(frozen=True)
class LogWish:
    """Which lines of a container's log."""

    container: str
    follow: bool = False
    tail: int | None = None  # the last so many lines
    since_seconds: int | None = None
    previous: bool = False
    timestamps: bool = False
    limit_bytes: int | None = None


class Session(Protocol):
    """A command running in a container."""

    def write(self, data: bytes) -> None:
        """To its standard input."""

    def close_input(self) -> None: ...

    def resize(self, columns: int, rows: int) -> None: ...

    def output(self) -> Iterator[tuple[int, bytes]]:
        """(1, standard output) and (2, standard error) as they come, until it ends."""

    def wait(self) -> int:
        """Its exit code, once the output is over."""

    def kill(self) -> None: ...


class PodRuntime(Protocol):
    """Whoever runs the pods."""

    def logs(self, pod: Pod, wish: LogWish) -> Iterator[bytes]:
        """Pieces of the log as they come; an empty piece now and then while following, so that a
        client that left is noticed."""

    def exec(
        self, pod: Pod, container: str, command: list[str], *, stdin: bool, tty: bool
    ) -> Session:
        """Start a command beside the container's own."""

    def attach(self, pod: Pod, container: str, *, stdin: bool, tty: bool) -> Session:
        """Join the container's own process."""

    def connect(self, pod: Pod, port: int) -> socket.socket:
        """A connection to a port of the pod, for port-forward."""


class NoRuntime:
    """Nothing runs: every question is refused, saying so."""

    def logs(self, pod: Pod, wish: LogWish) -> Iterator[bytes]:
        raise _nothing_runs(pod, wish.container)

    def exec(
        self, pod: Pod, container: str, command: list[str], *, stdin: bool, tty: bool
    ) -> Session:
        raise _nothing_runs(pod, container)

    def attach(self, pod: Pod, container: str, *, stdin: bool, tty: bool) -> Session:
        raise _nothing_runs(pod, container)

    def connect(self, pod: Pod, port: int) -> socket.socket:
        raise _nothing_runs(pod, f"port {port}")


def _nothing_runs(pod: Pod, what: str) -> Refusal:
    name = pod["metadata"]["name"]
    return Refusal(
        400,
        "BadRequest",
        f'container "{what}" in pod "{name}" is waiting to start: no process runs pods in this'
        " sandbox",
    )
