"""Runs modules written for Ansible: imports their common library once and forks for each.

A program of its own: the agent runs without site-packages and with threads, a module needs the
first and must not be forked among the second. It reads requests from standard input, one line of
JSON and the bytes it announces, and answers each with the process id and then with the output.

Travels to hosts, so: the standard library only, Python 3.9.
"""

from __future__ import annotations

import atexit
import gc
import importlib.machinery
import importlib.util
import json
import marshal
import os
import select
import signal
import sys
import zlib

from playrunner.hostside.installed_packages import Installed, newly_imported

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NoReturn, Optional

PIPE_BYTES = 60000  # fit into a pipe without a reader
POLL_SECONDS = 0.2  # only where a process that the module left behind keeps its output open
COLLECT_AFTER = 20000  # objects more: most modules end before, and a collection costs more
PRELOADED = ("ansible.module_utils.basic", "ansible.module_utils.common.json")


class Packs:
    """The code that was sent: a loader for what is in it, before anything that is installed."""

    def __init__(self) -> None:
        self.by_id: dict[str, dict[str, tuple[bool, bytes]]] = {}
        self.active: dict[str, tuple[bool, bytes]] = {}
        self.imports: dict[str, list[tuple[str, tuple[str, ...]]]] = {}
        self.codes: dict[bytes, Any] = {}

    def add(self, name: str, body: bytes) -> None:
        self.imports[name], files = marshal.loads(zlib.decompress(body))
        self.by_id[name] = {file: (package, code) for file, package, code in files}
        for file, _, code in files:
            if code not in self.codes:
                self.codes[code] = None
            elif self.codes[code] is None:  # other modules share it: read it once for all of them
                self.codes[code] = _code(code, file)

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
        return self.codes[code] or _code(code, name)


def _code(code: bytes, name: str) -> Any:
    if code[:1] == b"\0":  # compiled by the same version of Python
        return marshal.loads(code[1:])
    return compile(code[1:], _file(name), "exec", dont_inherit=True)


def _file(name: str) -> str:
    """A path that is nowhere, as deep as the name: modules of the library ask for folders above."""
    return f"/playrunner/{name.replace('.', '/')}.py"


class Server:
    """Serves one agent until it closes our standard input."""

    def __init__(self) -> None:
        self.source = sys.stdin.buffer
        self.out = os.dup(1)
        nothing = os.open(os.devnull, os.O_RDWR)
        os.dup2(nothing, 1)
        self.packs, self.installed = Packs(), Installed()
        finders: Any = sys.meta_path
        finders.insert(0, self.packs)
        sys.path = [path for path in sys.path if path]
        for name in [name for name in sys.modules if name.partition(".")[0] == "playrunner"]:
            del sys.modules[name]  # a module that asks for it gets the host's own or none
        gc.disable()  # what is imported here stays

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
        pipes = [os.pipe() for _ in range(3)]  # output, errors, what was imported
        self.installed.check()
        self.installed.preload(self.packs.imports[request["packs"][-1]])
        gc.freeze()  # a collection in the fork would copy every page of what is imported
        pid = os.fork()
        if not pid:
            names = os.dup(pipes[2][1])
            os.dup2(pipes[0][1], 1)
            os.dup2(pipes[1][1], 2)
            for fd in (self.out, *(fd for pipe in pipes for fd in pipe)):
                os.close(fd)
            _child(self.packs, request, params, names)
        for _, write in pipes:
            os.close(write)
        self._write(json.dumps({"pid": pid}).encode() + b"\n")
        (out, err, names_text), status = _follow(pid, [pipe[0] for pipe in pipes], request["limit"])
        head = {"rc": _exit_code(status), "out": len(out), "err": len(err)}
        self._write(json.dumps(head).encode() + b"\n" + out + err)
        self.installed.load(names_text.decode().split())

    def _write(self, data: bytes) -> None:
        view = memoryview(data)
        while view:
            view = view[os.write(self.out, view) :]


def _follow(pid: int, fds: list[int], limit: int) -> tuple[list[bytes], int]:
    """What a module writes until it has ended and nothing more comes, and its status."""
    texts = {fd: bytearray() for fd in fds}
    open_fds = list(fds)
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
    for fd in fds:
        os.close(fd)
    if status is None:
        status = os.waitpid(pid, 0)[1]
    return [bytes(texts[fd]) for fd in fds], status


def _exit_code(status: int) -> int:
    return -os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)


def _child(packs: Packs, request: dict[str, Any], params: bytes, names: int) -> NoReturn:
    """Run a module as the program it was written to be."""
    code, before = 1, set(sys.modules)
    try:
        os.setsid()
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.environ.clear()
        os.environ.update(request["env"])
        gc.set_threshold(COLLECT_AFTER)
        gc.enable()
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
        os.write(names, " ".join(newly_imported(before)).encode()[:PIPE_BYTES])
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
