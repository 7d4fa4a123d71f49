"""Runs modules written for Ansible: imports their common library once and forks for each.

A program of its own: the agent runs without site-packages and with threads, a module needs the
first and must not be forked among the second. It reads requests from standard input, one line of
JSON and the bytes it announces, and answers each with the process id and then with the output.

Travels to hosts, so: the standard library only, Python 3.9.
"""

from __future__ import annotations

import atexit
import importlib.machinery
import importlib.util
import json
import marshal
import os
import select
import signal
import sys
import zlib

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NoReturn, Optional

POLL_SECONDS = 0.2  # only where a process that the module left behind keeps its output open
PRELOADED = ("ansible.module_utils.basic", "ansible.module_utils.common.json")


class Packs:
    """The code that was sent: a loader for what is in it, before anything that is installed."""

    def __init__(self) -> None:
        self.by_id: dict[str, dict[str, tuple[bool, bytes]]] = {}
        self.active: dict[str, tuple[bool, bytes]] = {}

    def add(self, name: str, body: bytes) -> None:
        files = marshal.loads(zlib.decompress(body))
        self.by_id[name] = {file: (package, code) for file, package, code in files}

    def use(self, names: list[str]) -> None:
        self.active = {}
        for name in names:
            self.active.update(self.by_id[name])

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        if name not in self.active:
            return None
        loader: Any = self
        spec = importlib.machinery.ModuleSpec(
            name, loader, origin=_file(name), is_package=self.active[name][0]
        )
        spec.has_location = True
        return spec

    def create_module(self, spec: Any) -> None:
        return None

    def exec_module(self, module: Any) -> None:
        exec(self.get_code(module.__name__), module.__dict__)

    def get_code(self, name: str) -> Any:
        code = self.active[name][1]
        if code[:1] == b"\0":  # compiled by the same version of Python
            return marshal.loads(code[1:])
        return compile(code[1:], _file(name), "exec", dont_inherit=True)


def _file(name: str) -> str:
    return f"<{name}>"


class Server:
    """Serves one agent until it closes our standard input."""

    def __init__(self) -> None:
        self.source = sys.stdin.buffer
        self.out = os.dup(1)
        nothing = os.open(os.devnull, os.O_RDWR)
        os.dup2(nothing, 1)
        self.packs = Packs()
        finders: Any = sys.meta_path
        finders.insert(0, self.packs)
        sys.path = [path for path in sys.path if path]

    def serve(self) -> None:
        while True:
            line = self.source.readline()
            if not line:
                return
            request = json.loads(line)
            body = self.source.read(request["size"])
            if request["op"] == "pack":
                self.packs.add(request["id"], body)
                continue
            self._preload(request["packs"][0])
            self._run(request, body)

    def _preload(self, pack: str) -> None:
        if PRELOADED[0] in sys.modules:
            return
        self.packs.use([pack])
        for name in PRELOADED:
            if name in self.packs.active:
                importlib.import_module(name)

    def _run(self, request: dict[str, Any], params: bytes) -> None:
        out_read, out_write = os.pipe()
        err_read, err_write = os.pipe()
        pid = os.fork()
        if not pid:
            os.dup2(out_write, 1)
            os.dup2(err_write, 2)
            for fd in (self.out, out_read, out_write, err_read, err_write):
                os.close(fd)
            _child(self.packs, request, params)
        os.close(out_write)
        os.close(err_write)
        self._write(json.dumps({"pid": pid}).encode() + b"\n")
        out, err, status = _follow(pid, out_read, err_read, request["limit"])
        head = {"rc": _exit_code(status), "out": len(out), "err": len(err)}
        self._write(json.dumps(head).encode() + b"\n" + out + err)

    def _write(self, data: bytes) -> None:
        view = memoryview(data)
        while view:
            view = view[os.write(self.out, view) :]


def _follow(pid: int, out_fd: int, err_fd: int, limit: int) -> tuple[bytes, bytes, int]:
    """The output of a module until it has ended and nothing more comes."""
    texts = {out_fd: bytearray(), err_fd: bytearray()}
    open_fds = [out_fd, err_fd]
    status: Optional[int] = None
    while open_fds:
        ready = select.select(open_fds, [], [], 0 if status is not None else POLL_SECONDS)[0]
        for fd in ready:
            data = os.read(fd, 65536)
            if not data:
                open_fds.remove(fd)
            texts[fd] += data[: max(0, limit - len(texts[fd]))]
        if not ready:
            if status is not None:
                break
            ended, found = os.waitpid(pid, os.WNOHANG)
            if ended:
                status = found
    for fd in texts:
        os.close(fd)
    if status is None:
        status = os.waitpid(pid, 0)[1]
    return bytes(texts[out_fd]), bytes(texts[err_fd]), status


def _exit_code(status: int) -> int:
    return -os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)


def _child(packs: Packs, request: dict[str, Any], params: bytes) -> NoReturn:
    """Run a module as the program it was written to be."""
    code = 1
    try:
        os.setsid()
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.environ.clear()
        os.environ.update(request["env"])
        _use(packs, request["packs"])
        _main(packs, request, params)
        code = 0
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 1 if end.code else 0
        if isinstance(end.code, str):
            sys.stderr.write(end.code)
    except BaseException as error:  # whatever a module raises is the failure of its step
        import traceback

        print(
            json.dumps(
                {
                    "failed": True,
                    "msg": f"Module failed: {error}",
                    "exception": traceback.format_exc(),
                }
            )
        )
    try:
        atexit._run_exitfuncs()
        sys.stdout.flush()
        sys.stderr.flush()
    finally:
        os._exit(code)


def _use(packs: Packs, names: list[str]) -> None:
    """Make the packs' content importable; a pack may replace a file that is imported already."""
    own: set[str] = set()
    for name in names[1:]:
        own.update(packs.by_id[name])
    packs.use(names)
    if any(name in sys.modules and packs.by_id[names[0]].get(name) for name in own):
        for name in [name for name in sys.modules if name.partition(".")[0] == "ansible"]:
            del sys.modules[name]


def _main(packs: Packs, request: dict[str, Any], params: bytes) -> None:
    basic: Any = importlib.import_module("ansible.module_utils.basic")
    basic._ANSIBLE_ARGS = params
    if hasattr(basic, "_ANSIBLE_PROFILE"):
        basic._ANSIBLE_PROFILE = "legacy"
    name = request["name"]
    main = type(sys)("__main__")
    main.__dict__.update(
        __file__=_file(name),
        __package__=name.rpartition(".")[0],
        __spec__=None,
        __loader__=packs,
        _module_fqn=name,
        _modlib_path=request.get("library"),
    )
    sys.modules["__main__"] = main
    sys.argv = [_file(name)]
    exec(packs.get_code(name), main.__dict__)


if __name__ == "__main__":
    Server().serve()
