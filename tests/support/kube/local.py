"""The pretend API inside the test's own process, its pods run by local processes."""

from __future__ import annotations

import secrets
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from playrunner.sandbox.kube.http.server import serve
from playrunner.sandbox.kube.store.cluster import Cluster
from playrunner.sandbox.kube.wire import certificates, kubeconfig
from playrunner.sandbox.kube.wire.runtime import LogOptions, Pod, Session
from playrunner.sandbox.kube.wire.sessions import ProcessSession
from playrunner.sandbox.state import write_file


class LocalRuntime:
    """Every container's log is a list of lines, every exec a process, every port one of this
    machine."""

    def __init__(self) -> None:
        self.lines: list[bytes] = []
        self.more = threading.Condition()
        self.ended = False

    def say(self, line: str, last: bool = False) -> None:
        """One more line of the log."""
        with self.more:
            self.lines.append(line.encode() + b"\n")
            self.ended = last
            self.more.notify_all()

    def logs(self, pod: Pod, options: LogOptions) -> Iterator[bytes]:
        at = max(0, len(self.lines) - options.tail) if options.tail is not None else 0
        while True:
            with self.more:
                if at >= len(self.lines) and (self.ended or not options.follow):
                    return
                if at >= len(self.lines):
                    self.more.wait(1)
                fresh, at = self.lines[at:], len(self.lines)
            yield b"".join(fresh)

    def exec(
        self, pod: Pod, container: str, command: list[str], *, stdin: bool, tty: bool
    ) -> Session:
        return ProcessSession(command, stdin=stdin, tty=tty)

    def attach(self, pod: Pod, container: str, *, stdin: bool, tty: bool) -> Session:
        return ProcessSession(["cat"], stdin=stdin, tty=tty)

    def connect(self, pod: Pod, port: int) -> socket.socket:
        return socket.create_connection(("127.0.0.1", port), timeout=5)


@contextmanager
def served(runtime: Any, folder: Path) -> Iterator[Path]:
    """The API, for as long as it is needed; its kubeconfig."""
    certificates.authority(folder).issue("server")
    token = secrets.token_urlsafe(8)
    write_file(folder / "token", token)
    server = serve(Cluster(runtime=runtime), folder, 0)
    threading.Thread(
        target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True
    ).start()
    config = folder / "kubeconfig.yaml"
    kubeconfig.write(config, f"https://127.0.0.1:{server.server_port}", folder / "ca.crt", token)
    try:
        yield config
    finally:
        server.shutdown()
        server.server_close()
