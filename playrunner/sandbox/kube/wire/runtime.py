"""The pod runtime: what the API asks of the process that runs the pods."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol

from playrunner.sandbox.kube.schema.problems import Refusal, bad_request
from playrunner.sandbox.kube.wire.messages import Request

Pod = dict[str, Any]


@dataclass(frozen=True)
class LogOptions:
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
    """Runs the containers of pods."""

    def logs(self, pod: Pod, options: LogOptions) -> Iterator[bytes]:
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

    def logs(self, pod: Pod, options: LogOptions) -> Iterator[bytes]:
        raise _nothing_runs(pod, options.container)

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


def container_of(pod: Pod, request: Request) -> str:
    """The container that a request names; optional where the pod has only one."""
    names = [one["name"] for one in pod["spec"].get("containers", ())]
    others = [one["name"] for one in pod["spec"].get("initContainers", ())]
    asked = request.option("container")
    pod_name = pod["metadata"]["name"]
    if not asked and len(names) > 1:
        raise bad_request(
            f"a container name must be specified for pod {pod_name}, choose one of:"
            f" [{' '.join(names)}]"
        )
    if asked and asked not in names + others:
        raise bad_request(f"container {asked} is not valid for pod {pod_name}")
    return asked or names[0]
