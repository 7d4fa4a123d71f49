"""HostContext: what a host module may use, and how it runs a program on the host.

Travels to hosts, so: the standard library only, Python 3.9, and nothing that is slow to import.
"""

from __future__ import annotations

import _thread
import os
import time
from _thread import allocate_lock

from playrunner.hostside.child_process import started
from playrunner.hostside.module import Failed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

LIVE_AFTER_SECONDS = 1.0  # output of shorter steps is only shown with their result
READ_BYTES = 65536
LARGE_BYTES = 16 << 20  # what the controller reads anew for each host
LOOK_SECONDS = 0.2  # how often an end of the program is looked for while its pipes are quiet
# How long a process that a program left behind, and that holds its pipes, is listened to
LEFTOVER_SECONDS = 1.0


class Ran:
    """What a command did."""

    def __init__(self, rc: int, out: str, err: str, seconds: float) -> None:
        self.rc, self.out, self.err, self.seconds = rc, out, err, seconds


class HostContext:
    """What a host module may use: check and diff mode, running programs, files of the
    controller."""

    def __init__(self, wire: Any, request: dict[str, Any]) -> None:
        self.wire, self._step = wire, request["id"]
        self.check: bool = request.get("check", False)  # look only
        # Whether states should hold file contents, for a diff or to undo the change
        self.diff: bool = request.get("diff", False)
        self.background = bool(request.get("async"))  # goes on in a process of its own
        self.live: bool = request.get("live", True)  # false for no_log
        self.warnings: list[str] = []
        self.body = b""  # raw bytes that go back beside the result
        # What a module keeps from one of its methods to the next; the module itself is a value
        self.memory: dict[str, Any] = {}

    def warn(self, text: str) -> None:
        self.warnings.append(text)

    def blob(self, upload: dict[str, Any]) -> bytes:
        """The bytes of a file shipped by the controller, asked for only when they are needed."""
        if "text" in upload:
            text: str = upload["text"]
            return text.encode("latin-1")
        content: bytes = self.wire.blob(self._step, upload["sha1"])
        if len(content) > LARGE_BYTES:
            import hashlib

            # It was read again for this host, and may have changed meanwhile
            if hashlib.sha1(content).hexdigest() != upload["sha1"]:
                raise Failed("the file changed on the controller while it was sent; run again")
        return content

    def receive(self, upload: dict[str, Any], start: int, take: Any) -> None:
        """Have a large file sent from an offset on; `take` gets its pieces, in another thread."""
        one_at_a_time, ended = allocate_lock(), allocate_lock()
        ended.acquire()
        takers = [take]

        def passed(data: bytes) -> None:
            with one_at_a_time:
                for each in takers:
                    each(data) if data else ended.release()

        self.wire.takers[self._step] = passed
        try:
            self.wire.send({"id": self._step, "need": upload["sha1"], "from": start})
            ended.acquire()
        finally:
            del self.wire.takers[self._step]
            with one_at_a_time:
                takers.clear()  # a piece may be on its way here

    def scrap(self, path: str) -> None:
        """A temporary file that is deleted if the step is interrupted."""
        self.wire.scraps.add(path)

    def kept(self, path: str) -> None:
        self.wire.scraps.discard(path)

    def run(
        self,
        command: str | list[str],
        *,
        cwd: str | None = None,
        stdin: str | None = None,
        env: dict[str, str] | None = None,
        shell: str | None = None,
        timeout: float | None = None,
        umask: int = -1,
        live: bool = False,
    ) -> Ran:
        """Run a program (a list) or a shell line (a string) in a process group of its own and wait
        for it.

        With `live`, its output is for people: shown while it runs, and cut where it is longer than
        what is kept.
        """
        began = time.monotonic()
        self.wire.hold_nothing()
        process = started(
            command if isinstance(command, list) else [shell or "/bin/sh", "-c", command],
            cwd=cwd,
            env=env,
            umask=umask,
            feeds=stdin is not None,
        )
        self.wire.children.add(process.pid)
        try:
            out, err = self._follow(process, stdin, began, timeout, live)
        except BaseException:
            kill_group(process.pid)
            process.wait()
            raise
        finally:
            self.wire.children.discard(process.pid)
        return Ran(process.returncode, out, err, time.monotonic() - began)

    def _follow(
        self, process: Any, stdin: str | None, began: float, timeout: float | None, live: bool
    ) -> tuple[str, str]:
        import select

        streams = {stream.fileno(): stream for stream in (process.stdout, process.stderr)}
        texts = {fd: bytearray() for fd in streams}
        printed = process.stdout.fileno()
        shown = Shown(self.wire, self._step, live and self.live)
        room, left_out = self.wire.limits.output, 0
        leftovers = Leftovers(process)
        if stdin is not None:
            # A thread writes it: a program that answers while it reads would block both sides.
            _thread.start_new_thread(
                _feed, (process.stdin, stdin.encode("utf-8", "surrogateescape"))
            )
        waiting, unended = select.poll(), set(streams)
        for fd in streams:
            waiting.register(fd, select.POLLIN)
        while unended:
            events = waiting.poll(LOOK_SECONDS * 1000)
            for fd, _ in events:
                data = os.read(fd, READ_BYTES)
                if not data:
                    waiting.unregister(fd)
                    unended.discard(fd)
                    continue
                kept = data[:room]
                texts[fd] += kept
                room, left_out = room - len(kept), left_out + len(data) - len(kept)
            elapsed = time.monotonic() - began
            if timeout and elapsed > timeout:
                raise Failed(f"timed out after {timeout:g} seconds", rc=124)
            if elapsed > LIVE_AFTER_SECONDS:
                shown.up_to(texts[printed])
            if leftovers.are_quiet(bool(events)):
                break
        process.wait()
        for stream in streams.values():
            stream.close()
        if left_out:
            self._cut(left_out, live)
        out, err = texts.values()
        return _decoded(out), _decoded(err)

    def _cut(self, left_out: int, live: bool) -> None:
        message = (
            f"the command wrote {left_out} bytes more than the {self.wire.limits.output} that are"
            " kept; write to a file, or set PLAYRUNNER_OUTPUT_MB"
        )
        if not live:
            raise Failed(message)  # a module must not parse output that is cut off
        self.warn(message)


class Leftovers:
    """Processes that a program started and left behind, with its pipes still open in them: the
    step ends once the program has, and nothing more is written for a while."""

    def __init__(self, process: Any) -> None:
        self.process = process
        self.quiet_since: float | None = None

    def are_quiet(self, wrote: bool) -> bool:
        if wrote or self.process.poll() is None:
            self.quiet_since = None
            return False
        self.quiet_since = self.quiet_since or time.monotonic()
        return time.monotonic() - self.quiet_since >= LEFTOVER_SECONDS


class Shown:
    """Sends a command's output while it runs: whole lines, up to a limit."""

    def __init__(self, wire: Any, step: int, live: bool) -> None:
        self.wire, self.step = wire, step
        self.room = wire.limits.shown if live else 0
        self.start = self.searched = 0

    def up_to(self, text: bytearray) -> None:
        end = text.rfind(b"\n", self.searched) + 1
        self.searched = len(text)
        if not end or not self.room:
            return
        lines = _decoded(text[self.start : min(end, self.start + self.room)])
        self.room -= min(end - self.start, self.room)
        self.start = end
        if not self.room:
            lines += "\n(output limit reached; the rest is in the result)\n"
        self.wire.send({"id": self.step, "out": lines})


def _feed(pipe: Any, data: bytes) -> None:
    try:
        pipe.write(data)
        pipe.close()
    except OSError:
        pass  # the program ended before it read everything


def kill_group(leader: int) -> None:
    """End a process group: SIGTERM, then SIGKILL."""
    import signal

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
