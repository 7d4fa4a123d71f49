"""The agent's side of module_server: starts it when the first module needs it, and waits for
modules.

Travels to hosts, so: the standard library only, Python 3.9, and nothing that is slow to import.
"""

from __future__ import annotations

import json
import os
import sys

from playrunner.hostside.host_context import kill_group
from playrunner.hostside.module import Failed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Optional

    from playrunner.hostside.host_context import HostContext

# The server's files, each after those it imports; the last one is the program itself
START = """import sys, json
for name, text in json.loads(sys.stdin.buffer.read({})):
    module = sys.modules.setdefault(name, type(sys)(name))
    module.__dict__.setdefault('__path__', [])
    exec(compile(text, name, 'exec'), module.__dict__)
"""


class ModuleProcess:
    """One module_server, of the process that started it: a forked one starts its own."""

    def __init__(self, program: bytes) -> None:
        import subprocess

        self.owner = os.getpid()
        self.packs: set[str] = set()
        self.process = subprocess.Popen(
            [sys.executable, "-c", START.format(len(program))],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,
        )
        self._write(program)

    def add(self, name: str, body: bytes) -> None:
        self._send({"op": "pack", "id": name}, body)
        self.packs.add(name)

    def run(self, ctx: HostContext, request: dict[str, Any], params: bytes) -> tuple[int, str, str]:
        """Run a module; what interrupts the wait ends the module, too."""
        module: Optional[int] = None
        ctx.wire.children.add(self.process.pid)
        try:
            self._send({"op": "run", **request}, params)
            module = self._answer()["pid"]
            ctx.wire.children.add(module)
            head = self._answer()
            out, err = self._read(head["out"]), self._read(head["err"])
            return head["rc"], _text(out), _text(err)
        except BaseException:
            for group in (module, self.process.pid):
                if group:
                    kill_group(group)
            self.owner = -1
            raise
        finally:
            ctx.wire.children.discard(self.process.pid)
            ctx.wire.children.discard(module)

    def _send(self, request: dict[str, Any], body: bytes) -> None:
        self._write(json.dumps({**request, "size": len(body)}).encode() + b"\n" + body)

    def _write(self, data: bytes) -> None:
        assert self.process.stdin
        try:
            self.process.stdin.write(data)
            self.process.stdin.flush()
        except OSError:
            raise self._ended() from None

    def _answer(self) -> dict[str, Any]:
        assert self.process.stdout
        line = self.process.stdout.readline()
        if not line:
            raise self._ended()
        answer: dict[str, Any] = json.loads(line)
        return answer

    def _read(self, size: int) -> bytes:
        assert self.process.stdout
        data = self.process.stdout.read(size)
        if len(data) < size:
            raise self._ended()
        return data

    def _ended(self) -> Failed:
        return Failed(
            "the process that runs Ansible's modules ended"
            f" (status {self.process.poll()}); {sys.executable} may lack memory"
        )


_current: Optional[ModuleProcess] = None


def module_process(program: Any) -> ModuleProcess:
    """The running one; `program` gives its source where one has to be started."""
    global _current
    if _current is None or _current.owner != os.getpid() or _current.process.poll() is not None:
        _current = ModuleProcess(program())
    return _current


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace")
