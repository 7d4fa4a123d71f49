"""The half that runs on a host: reads steps from standard input, does them in order, answers each.

Sent over the connection and run by `python3 -IS`, never installed. Only what every step needs is
imported here; a host module brings its own imports. A frame is one line of JSON and, when it has a
"body", that many raw bytes after it.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time
import zlib

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NoReturn, Optional


class Limits:
    """How much the controller takes, and how often it wants a sign of life; it sends its own
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
        self.lock = threading.Lock()  # one frame at a time goes out
        self.step: Optional[int] = None  # the request that is being worked on
        self.frames: list[dict[str, Any]] = []
        self.blobs: dict[str, bytes] = {}
        self.news = threading.Condition()
        self.children: set[int] = set()
        self.scraps: set[str] = set()

    def read_forever(self) -> None:
        while True:
            line = self.source.readline()
            if not line:
                self.end()
            frame = json.loads(line)
            body = self.source.read(frame["body"]) if "body" in frame else b""
            with self.news:
                if frame["op"] == "blob":
                    self.blobs[frame["sha1"]] = (
                        zlib.decompress(body) if frame.get("packed") else body
                    )
                else:
                    frame["bytes"] = body
                    self.frames.append(frame)
                self.news.notify_all()

    def next(self) -> dict[str, Any]:
        with self.news:
            while not self.frames:
                self.news.wait()
            return self.frames.pop(0)

    def blob(self, step: int, sha1: str) -> bytes:
        if sha1 not in self.blobs:
            self.send({"id": step, "need": sha1})
        with self.news:
            while sha1 not in self.blobs:
                self.news.wait()
            return self.blobs[sha1]

    def send(self, frame: dict[str, Any]) -> None:
        with self.lock:
            self._write(json.dumps(frame).encode())

    def finish(self, line: bytes, body: bytes) -> None:
        """The answer to the request that was worked on; nothing more is said about it."""
        with self.lock:
            self.step = None
            self._write(line, body)

    def beat_forever(self) -> None:
        """Say now and then that a long step is still worked on."""
        while True:
            time.sleep(self.limits.beat)
            with self.lock:
                if self.step is not None:
                    self._write(json.dumps({"id": self.step, "alive": True}).encode())

    def _write(self, line: bytes, body: bytes = b"") -> None:
        for data in (line + b"\n", body):
            view = memoryview(data)
            while view:
                view = view[os.write(self.out, view) :]

    def end(self) -> NoReturn:
        """The controller is gone or done: whatever still runs for it ends, half-written files go."""
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
    """Does steps in order; after a failure it passes over what was sent ahead, until the controller
    goes on."""

    def __init__(self, wire: Wire) -> None:
        self.wire = wire
        self.halted_epoch = -1
        self.failed_groups: dict[int, int] = {}

    def serve(self) -> NoReturn:
        while True:
            frame = self.wire.next()
            if frame["op"] == "limits":
                self.wire.limits.__dict__.update(frame)
                threading.Thread(target=self.wire.beat_forever, daemon=True).start()
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

        self.wire.step = request["id"]
        ctx = HostContext(self.wire, request)
        started = time.monotonic()
        with _environment(request.get("env")):
            result = _start_async(request, ctx) if request.get("async") else _do(request, ctx)
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
        # The items of one loop all run; only the fence after the last of them stops what follows.
        if "group" in request:
            self.failed_groups[request["group"]] = request["epoch"]
        else:
            self.halted_epoch = request["epoch"]

    def _fence(self, group: int) -> None:
        self.halted_epoch = max(self.halted_epoch, self.failed_groups.pop(group, -1))


def _do(request: dict[str, Any], ctx: Any) -> dict[str, Any]:
    from playrunner.hostside.module import Failed
    from playrunner.hostside.perform import perform, restore

    module = getattr(sys.modules[request["module"]], request["class"])(**request["args"])
    try:
        with _deadline(request.get("timeout"), ctx.wire):
            if "restore" in request:
                return restore(module, request["restore"], ctx)
            return perform(module, ctx)
    except Failed as failure:
        return {"failed": True, "changed": False, "msg": str(failure), **failure.values}
    # The host's one broad catch: whatever a module raises is this step's failure, no more
    except Exception as error:
        import traceback

        return {
            "failed": True,
            "changed": False,
            "msg": _explain(error),
            "exception": traceback.format_exc(),
        }


class _environment:
    """The step's own environment variables, for as long as it runs."""

    def __init__(self, variables: Optional[dict[str, str]]) -> None:
        self.variables = variables or {}

    def __enter__(self) -> None:
        self.before = {name: os.environ.get(name) for name in self.variables}
        os.environ.update(self.variables)

    def __exit__(self, *_: object) -> None:
        for name, value in self.before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


class _deadline:
    """Raises in the main thread when a step takes longer than its `timeout`."""

    def __init__(self, seconds: Optional[float], wire: Wire) -> None:
        self.seconds, self.wire = seconds, wire

    def __enter__(self) -> None:
        if self.seconds:
            signal.signal(signal.SIGALRM, self._ring)
            signal.setitimer(signal.ITIMER_REAL, self.seconds)

    def __exit__(self, *_: object) -> None:
        if self.seconds:
            signal.setitimer(signal.ITIMER_REAL, 0)

    def _ring(self, *_: object) -> None:
        if self.wire.lock.locked():  # raised now, it could cut a frame in two
            signal.setitimer(signal.ITIMER_REAL, 0.05)
            return
        from playrunner.hostside.module import Failed

        raise Failed(
            f"The step did not finish within its timeout of {self.seconds:g} seconds", timedout=True
        )


def async_folder() -> str:
    given = os.environ.get("PLAYRUNNER_ASYNC_DIR")
    return (
        os.path.expanduser(given)
        if given
        else os.path.join(os.path.expanduser("~"), ".playrunner", "async")
    )


def _start_async(request: dict[str, Any], ctx: Any) -> dict[str, Any]:
    """Do the step in a process that outlives this one; `async_status` reads what it leaves behind."""
    job = f"{int(time.time())}.{os.getpid()}.{request['id']}"
    folder = async_folder()
    os.makedirs(folder, 0o700, exist_ok=True)
    path = os.path.join(folder, job)
    started = {
        "ansible_job_id": job,
        "started": True,
        "finished": False,
        "results_file": path,
        "changed": True,
    }
    _write_whole(path, started)
    if os.fork():
        os.wait()
        return started
    os.setsid()
    if os.fork():
        os._exit(0)
    for fd in (0, 1, 2, ctx.wire.out):
        os.dup2(os.open(os.devnull, os.O_RDWR), fd)
    ctx.wire.lock = threading.Lock()  # the thread that may hold the other is not in this process
    try:
        result = _do({**request, "timeout": request["async"]}, ctx)
        _write_whole(path, {**result, "ansible_job_id": job, "started": True, "finished": True})
    finally:
        os._exit(0)


def _write_whole(path: str, value: dict[str, Any]) -> None:
    with open(path + ".new", "w", opener=lambda name, flags: os.open(name, flags, 0o600)) as file:
        json.dump(value, file, default=str)
    os.replace(path + ".new", path)


def _load_code(body: bytes, compiled_size: int, magic: str) -> None:
    """Make modules of what was sent, in the order given: each one's own imports come before it.

    It comes twice, compiled and as source: compiling costs more than all else here, and is only
    needed when the controller runs another Python than this host.
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


def _explain(error: BaseException) -> str:
    if isinstance(error, OSError) and error.strerror:
        return f"{error.strerror}: {error.filename}" if error.filename else error.strerror
    return f"{type(error).__name__}: {error}"


def main() -> NoReturn:
    # A module that prints by accident must not break the frames: they go out on a descriptor of
    # their own.
    wire = Wire(sys.stdin.buffer, os.dup(1))
    os.dup2(2, 1)
    sys.modules["playrunner.hostside.agent"] = sys.modules["__main__"]
    agent = Agent(wire)
    threading.Thread(target=wire.read_forever, daemon=True).start()
    agent.serve()


if __name__ == "__main__":
    main()
