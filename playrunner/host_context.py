"""Host context: all a host module may use, and how it runs a program on the host.

Travels to hosts, so: the standard library only, Python 3.9, and nothing that is slow to import.
"""

from __future__ import annotations

import os
import signal
import threading
import time

from playrunner.module import Failed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

LIVE_AFTER_SECONDS = 1.0  # shorter steps answer before anyone could read along
READ_BYTES = 65536


class Ran:
    """What a command did."""

    def __init__(self, rc: int, out: str, err: str, seconds: float) -> None:
        self.rc, self.out, self.err, self.seconds = rc, out, err, seconds


class HostContext:
    """All a host module may use: how to look, how to run a program, how to get bytes from the controller."""

    def __init__(self, wire: Any, request: dict[str, Any]) -> None:
        self.wire, self._step = wire, request["id"]
        self.check: bool = request.get("check", False)  # look only
        self.diff: bool = request.get("diff", False)  # states should hold file contents, for a diff or to take back
        self.live: bool = request.get("live", True)  # false for no_log
        self.warnings: list[str] = []
        self.body = b""  # raw bytes that go back beside the result

    def warn(self, text: str) -> None:
        self.warnings.append(text)

    def blob(self, shipment: dict[str, Any]) -> bytes:
        """The bytes of a file shipped by the controller, asked for only when they are needed."""
        if "text" in shipment:
            text: str = shipment["text"]
            return text.encode("latin-1")
        found: bytes = self.wire.blob(self._step, shipment["sha1"])
        return found

    def scrap(self, path: str) -> None:
        """A temporary file to remove should the work end early."""
        self.wire.scraps.add(path)

    def kept(self, path: str) -> None:
        self.wire.scraps.discard(path)

    def run(self, command: str | list[str], *, cwd: str | None = None, stdin: str | None = None,
            env: dict[str, str] | None = None, shell: str | None = None, timeout: float | None = None,
            live: bool = False) -> Ran:
        """Run a program (a list) or a shell line (a string) in a process group of its own and wait for it."""
        import subprocess

        started = time.monotonic()
        process = subprocess.Popen(
            command if isinstance(command, list) else [shell or "/bin/sh", "-c", command],
            cwd=cwd, env={**os.environ, **env} if env else None, start_new_session=True,
            stdin=subprocess.PIPE if stdin is not None else subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.wire.children.add(process.pid)
        try:
            out, err = self._follow(process, stdin, started, timeout, live and self.live)
        except BaseException:
            kill_group(process.pid)
            process.wait()
            raise
        finally:
            self.wire.children.discard(process.pid)
        return Ran(process.returncode, out, err, time.monotonic() - started)

    def _follow(self, process: Any, stdin: str | None, started: float, timeout: float | None,
                live: bool) -> tuple[str, str]:
        import selectors

        texts = {process.stdout: bytearray(), process.stderr: bytearray()}
        shown = 0
        with selectors.DefaultSelector() as selector:
            for stream in texts:
                selector.register(stream, selectors.EVENT_READ)
            if stdin is not None:
                # A thread feeds it: a program that answers while it reads would otherwise wait for us, and we for it.
                threading.Thread(target=_feed, args=(process.stdin, stdin.encode("utf-8", "surrogateescape")),
                                 daemon=True).start()
            while selector.get_map():
                for key, _ in selector.select(0.2 if live or timeout else None):
                    data = os.read(key.fd, READ_BYTES)
                    if data:
                        texts[key.fileobj] += data
                    else:
                        selector.unregister(key.fileobj)
                elapsed = time.monotonic() - started
                if timeout and elapsed > timeout:
                    raise Failed(f"timed out after {timeout:g} seconds", rc=124)
                if live and elapsed > LIVE_AFTER_SECONDS:
                    shown += self._show(bytes(texts[process.stdout][shown:]))
        process.wait()
        return _decoded(texts[process.stdout]), _decoded(texts[process.stderr])

    def _show(self, fresh: bytes) -> int:
        whole_lines = fresh[:fresh.rfind(b"\n") + 1]
        if whole_lines:
            self.wire.send({"id": self._step, "out": _decoded(whole_lines)})
        return len(whole_lines)


def _feed(pipe: Any, data: bytes) -> None:
    try:
        pipe.write(data)
        pipe.close()
    except OSError:
        pass  # the program did not want all of it


def kill_group(leader: int) -> None:
    """End a process group: politely, then surely."""
    for sign in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(leader, sign)
        except OSError:
            return
        for _ in range(20):
            try:
                if os.waitpid(leader, os.WNOHANG)[0]:
                    break
            except OSError:
                break
            time.sleep(0.05)


def _decoded(data: bytes | bytearray) -> str:
    return bytes(data).decode("utf-8", "replace")
