"""The agent: runs on a host, reads steps from standard input, runs them in order, answers each.

Sent over the connection and run by `python3 -IS`, never installed. Only what every step needs is
imported here; a host module is sent with its own imports. A frame is one line of JSON and, when it
has a "body", that many raw bytes after it.
"""

from __future__ import annotations

import _thread  # not `threading`: it takes as long to import as all else here
import os
import sys
import time
import zlib

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NoReturn, Optional

try:
    from _queue import SimpleQueue
except ImportError:  # another Python than CPython
    from queue import SimpleQueue

PIECE_BYTES = 1 << 20  # of a large file that are held at a time
# Answers to short steps travel together while more steps are here: each message wakes two threads
# of the controller and one of sshd, which costs more than the step
TOGETHER_SECONDS, TOGETHER_BYTES = 0.02, 1 << 16

_scan: Any  # (text, where) -> (value, end)
_chunks: Any  # (value, level) -> the pieces of its text
try:
    # What `json` is made of: all of it, with `re`, is a third of an agent's start (9 of 28 ms)
    from _json import encode_basestring_ascii, make_encoder, make_scanner
except ImportError:  # another Python than CPython
    import json

    _scan = json.JSONDecoder().scan_once  # type: ignore[attr-defined]
    _chunks = json.JSONEncoder(default=str, allow_nan=False).iterencode
else:

    class _Decoding:
        strict, object_hook, object_pairs_hook = True, None, None
        parse_float, parse_int, parse_constant = float, int, float

    _scan = make_scanner(_Decoding)  # type: ignore[arg-type]
    _chunks = make_encoder(
        None, str, encode_basestring_ascii, None, ": ", ", ", False, False, False
    )


def decoded(line: bytes) -> dict[str, Any]:
    """The frame on a line of JSON."""
    frame: dict[str, Any] = _scan(line.decode(), 0)[0]
    return frame


def encoded(frame: dict[str, Any]) -> str:
    """The frame as JSON; ValueError where it holds a number that JSON does not have."""
    return "".join(_chunks(frame, 0))


class Limits:
    """How many bytes the controller accepts, and how often it wants a heartbeat; it sends its own
    numbers first."""

    output = reply = 100 << 20
    shown = 4 << 20
    line = 32 << 20
    beat = 30.0


class Wire:
    """Frames in and out. The reader never stops, so a controller that sends ahead never blocks."""

    def __init__(self, source: Any, out: int) -> None:
        self.source, self.out = source, out
        self.limits = Limits()
        self.lock = _thread.allocate_lock()  # one frame at a time goes out
        self.step: Optional[int] = None  # the request that is being worked on
        self.held = bytearray()  # answers that wait for more
        self.holds, self.is_awaited = _thread.allocate_lock(), False
        self.holds.acquire()  # released where something is held; is_awaited until it was sent
        self.at_once = False  # the answer to the current request is not held
        self.frames: Any = SimpleQueue()
        self.blobs: dict[str, bytes] = {}
        self.arrived: Any = SimpleQueue()  # an entry for each blob
        self.placed: dict[str, str] = {}  # where large files are on this host
        self.takers: dict[int, Any] = {}  # by the step that waits for a large file
        self.children: set[int] = set()
        self.scraps: set[str] = set()

    def read_forever(self) -> None:
        while True:
            line = self.source.readline()
            if not line:
                self.end()
            frame = decoded(line)
            if "from" in frame:
                self._pass_on(frame["id"], frame["body"])
                continue
            body = self.source.read(frame["body"]) if "body" in frame else b""
            if frame["op"] == "blob":
                self.blobs[frame["sha1"]] = zlib.decompress(body) if frame.get("packed") else body
                self.arrived.put(True)
            else:
                frame["bytes"] = body
                self.frames.put(frame)

    def next_frame(self) -> dict[str, Any]:
        if self.held and self.frames.empty():
            with self.lock:
                self._write()
        return self.frames.get()  # type: ignore[no-any-return]

    def _pass_on(self, step: int, left: int) -> None:
        """Give a large file piece by piece to its step, which may have ended meanwhile."""
        while left:
            data = self.source.read1(min(left, PIECE_BYTES))
            if not data:
                self.end()
            left -= len(data)
            self.takers.get(step, len)(data)
        self.takers.get(step, len)(b"")

    def blob(self, step: int, sha1: str) -> bytes:
        if sha1 not in self.blobs:
            self.send({"id": step, "need": sha1})
        while sha1 not in self.blobs:
            self.arrived.get()
        return self.blobs[sha1]

    def send(self, frame: dict[str, Any]) -> None:
        with self.lock:
            self._write(encoded(frame).encode() + b"\n")

    def finish(self, line: bytes, body: bytes) -> None:
        """Send the answer to the current request, or hold it for a moment; no heartbeat follows
        it."""
        with self.lock:
            self.step = None
            if self.at_once or self.frames.empty() or len(body) > TOGETHER_BYTES:
                self._write(line + b"\n", body)
            else:
                self.held += line + b"\n" + body
                if len(self.held) > TOGETHER_BYTES:
                    self._write()
                elif not self.is_awaited:
                    self.is_awaited = True
                    self.holds.release()
            self.at_once = False

    def hold_nothing(self) -> None:
        """The current step may take long, or end this process: send what is held, and then its
        answer at once."""
        with self.lock:
            self.at_once = True
            if self.held:
                self._write()

    def beat_forever(self) -> None:
        """Send what is held after a moment, and heartbeats while a step runs."""
        while True:
            if self.holds.acquire(timeout=self.limits.beat):
                time.sleep(TOGETHER_SECONDS)
                with self.lock:
                    self.is_awaited = False
                    self._write()
                continue
            with self.lock:
                if self.step is not None:
                    self._write(encoded({"id": self.step, "alive": True}).encode() + b"\n")

    def _write(self, *frames: bytes) -> None:
        """Write what is held, and then this."""
        held, self.held = bytes(self.held), bytearray()
        for data in (held, *frames):
            view = memoryview(data)
            while view:
                view = view[os.write(self.out, view) :]

    def end(self) -> NoReturn:
        """The controller has disconnected: kill child processes, delete half-written files."""
        if self.children:
            from playrunner.hostside.host_context import kill_group

            for group in list(self.children):
                kill_group(group)
        for scrap in list(self.scraps):
            try:
                os.unlink(scrap)
            except OSError:
                pass
        os._exit(0)


class Agent:
    """Runs steps in order; after a failure it skips the steps that were already sent."""

    def __init__(self, wire: Wire) -> None:
        self.wire = wire
        self.halted_epoch = -1
        self.failed_groups: dict[int, int] = {}

    def serve(self) -> NoReturn:
        while True:
            frame = self.wire.next_frame()
            if frame["op"] == "limits":
                self.wire.limits.__dict__.update(frame)
                _thread.start_new_thread(self.wire.beat_forever, ())
            elif frame["op"] == "code":
                _load_code(frame["bytes"], frame["compiled"], frame["magic"])
            elif frame["op"] == "fence":
                self._fence(frame["group"])
            else:
                self.answer(frame)

    def answer(self, request: dict[str, Any]) -> None:
        if request["epoch"] <= self.halted_epoch:
            self.wire.send({"id": request["id"], "passed": True})
            return
        from playrunner.hostside.answer import sendable
        from playrunner.hostside.host_context import HostContext
        from playrunner.hostside.request import result_of
        from playrunner.hostside.step_settings import Environment

        self.wire.step = request["id"]
        ctx = HostContext(self.wire, request)
        started = time.monotonic()
        with Environment(request.get("env")):
            if request.get("async"):
                from playrunner.hostside.async_job import start_async

                result = start_async(request, ctx, result_of)
            else:
                result = result_of(request, ctx)
        if ctx.warnings:
            result["warnings"] = ctx.warnings
        answer = {
            "id": request["id"],
            "result": result,
            "seconds": round(time.monotonic() - started, 4),
        }
        line, body = sendable(answer, ctx.body, self.wire.limits)
        if answer["result"].get("failed") and request.get("halt", True):
            self._note_failure(request)
        self.wire.finish(line, body)

    def _note_failure(self, request: dict[str, Any]) -> None:
        # All items of a loop run; only the fence after the last one stops the following steps.
        if "group" in request:
            self.failed_groups[request["group"]] = request["epoch"]
        else:
            self.halted_epoch = request["epoch"]

    def _fence(self, group: int) -> None:
        self.halted_epoch = max(self.halted_epoch, self.failed_groups.pop(group, -1))


def _load_code(body: bytes, compiled_size: int, magic: str) -> None:
    """Import the modules that were sent, in their order: each comes after those it imports.

    They are sent twice, compiled and as source: compiling is the slowest part of a start, and only
    needed when the controller runs another version of Python than this host.
    """
    import marshal

    same_python = sys.modules["_frozen_importlib_external"].MAGIC_NUMBER.hex() == magic
    packed = body[:compiled_size] if same_python else body[compiled_size:]
    for name, code in marshal.loads(zlib.decompress(packed)):
        if name in sys.modules:
            continue
        parent, _, leaf = name.rpartition(".")
        module = type(sys)(name)
        module.__dict__["__path__"] = []
        sys.modules[name] = module
        if code:
            exec(
                marshal.loads(code) if same_python else compile(code, f"<{name}>", "exec"),
                module.__dict__,
            )
        if parent in sys.modules:
            setattr(sys.modules[parent], leaf, module)


def main() -> NoReturn:
    # Frames have a file descriptor of their own, so that a module that prints does not break them.
    wire = Wire(sys.stdin.buffer, os.dup(1))
    os.dup2(2, 1)
    # Not `__main__` itself: an interpreter that wraps Python may have run this code elsewhere.
    known = sys.modules["playrunner.hostside.agent"] = type(sys)("playrunner.hostside.agent")
    known.__dict__.update(globals())
    agent = Agent(wire)
    _thread.start_new_thread(wire.read_forever, ())
    agent.serve()


if __name__ == "__main__":
    main()
