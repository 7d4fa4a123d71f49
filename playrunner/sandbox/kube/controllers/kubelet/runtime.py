"""What the API asks about pods that run here: their logs, commands beside them, their ports."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import suppress

from playrunner.sandbox.kube.controllers.framework.controller_context import ControllerContext
from playrunner.sandbox.kube.controllers.framework.process import POD_MARK
from playrunner.sandbox.kube.controllers.kubelet import logs
from playrunner.sandbox.kube.controllers.kubelet.container import MARK
from playrunner.sandbox.kube.controllers.kubelet.container_history import ContainerHistory
from playrunner.sandbox.kube.controllers.kubelet.kubelet_controller import PodWorkers
from playrunner.sandbox.kube.controllers.kubelet.pod_worker import PodWorker
from playrunner.sandbox.kube.schema.problems import Refusal
from playrunner.sandbox.kube.wire.runtime import LogOptions, Pod, Session
from playrunner.sandbox.kube.wire.sessions import ProcessSession

CONNECT_SECONDS = 5.0


class LocalRuntime:
    """A `playrunner.sandbox.kube.wire.runtime.PodRuntime` over the pod workers."""

    def __init__(self, context: ControllerContext) -> None:
        self.context = context

    def logs(self, pod: Pod, options: LogOptions) -> Iterator[bytes]:
        worker = self._worker(pod)
        history = worker.history(options.container)
        if options.previous and not history.restarts:
            raise _refused(
                f'previous terminated container "{history.name}" in pod "{pod["metadata"]["name"]}"'
                " not found"
            )
        path = worker.log_of(history, options.previous)
        if path is None:
            raise _refused(
                f'container "{history.name}" in pod "{pod["metadata"]["name"]}"'
                f" is waiting to start: {history.waiting[0]}"
            )
        run = history.run
        return logs.read(
            path, options, lambda: options.previous or run is None or run.ended is not None
        )

    def exec(
        self, pod: Pod, container: str, command: list[str], *, stdin: bool, tty: bool
    ) -> Session:
        worker, history = self._running(pod, container)
        mounts = worker.mounts_of(history)
        assert mounts is not None
        mark = f"{worker.uid}/{history.name}/{history.restarts}"
        environment = {**mounts.variables(), POD_MARK: str(self.context.folder), MARK: mark}
        if tty:
            environment.setdefault("TERM", "xterm")
        return ProcessSession(
            mounts.command(command),
            stdin=stdin,
            tty=tty,
            environment=environment,
            folder=mounts.start_folder(),
        )

    def attach(self, pod: Pod, container: str, *, stdin: bool, tty: bool) -> Session:
        self._running(pod, container)
        return _Onlooker(self.logs(pod, LogOptions(container, follow=True, tail=0)))

    def connect(self, pod: Pod, port: int) -> socket.socket:
        worker, _ = self._running(pod, "")
        with suppress(ConnectionRefusedError):
            return socket.create_connection((worker.address, port), CONNECT_SECONDS)
        # A pod's own localhost is this machine's.
        return socket.create_connection(("127.0.0.1", port), CONNECT_SECONDS)

    def _worker(self, pod: Pod) -> PodWorker:
        found = self.context.the(PodWorkers).get(pod["metadata"]["uid"])
        if found is None:
            raise _refused(f'pod "{pod["metadata"]["name"]}" does not run here yet')
        return found

    def _running(self, pod: Pod, container: str) -> tuple[PodWorker, ContainerHistory]:
        worker = self._worker(pod)
        history = worker.history(container)
        if not history.runs:
            raise Refusal(500, "InternalError", f'container not found ("{history.name}")')
        return worker, history


class _Onlooker:
    """Sees what a container says from now on; what is typed goes nowhere."""

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self._pieces = pieces

    def write(self, data: bytes) -> None:
        """Ignored: there is no input."""

    def close_input(self) -> None:
        """Nothing to close."""

    def resize(self, columns: int, rows: int) -> None:
        """No terminal of its own."""

    def output(self) -> Iterator[tuple[int, bytes]]:
        yield from ((1, piece) for piece in self._pieces if piece)

    def wait(self) -> int:
        return 0

    def kill(self) -> None:
        """Looking on ends with the connection."""


def _refused(message: str) -> Refusal:
    return Refusal(400, "BadRequest", message)
