"""The code sent to a host: the agent with what every step needs, then each module when it is first
used."""

from __future__ import annotations

import importlib.util
import json
import marshal
import re
import shlex
import threading
import zlib
from functools import cache
from typing import Any

from playrunner.frozen import frozen
from playrunner.playbook import module_index
from playrunner.ssh.limits import limits
from playrunner.ssh.targets import Become, Target

STARTED = b"playrunner-agent"
NO_PYTHON = 127
MARSHAL_VERSION = 4  # what every Python from 3.4 on reads


@frozen
class AgentKey:
    """Which agent a step needs: the host, and the user it runs as."""

    target: Target
    become: Become | None = None


def command(key: AgentKey, marker: str) -> str:
    """The command that starts an agent: it prints a marker line, then reads its own code."""
    python = shlex.quote(key.target.python) if key.target.python else "python3"
    compiled, source = agent_code()
    code = (
        "import sys,zlib,marshal;"
        'sys.version_info<(3,9) and sys.exit("needs Python 3.9 or later, not "+sys.version[:6]);'
        f"b=sys.stdin.buffer.read({len(compiled) + len(source)});"
        f'same=sys.modules["_frozen_importlib_external"].MAGIC_NUMBER.hex()=="{_MAGIC}";'
        f"exec(marshal.loads(zlib.decompress(b[:{len(compiled)}])) if same"
        f' else compile(zlib.decompress(b[{len(compiled)}:]),"agent","exec"))'
    )
    start = f"echo {STARTED.decode()}; exec {python} -IS -c {shlex.quote(code)}"
    guarded = f"command -v {python} >/dev/null 2>&1 || exit {NO_PYTHON}; {start}"
    inner = f"/bin/sh -c {shlex.quote(guarded)}"
    return as_user(key.become, inner, marker)


def as_user(become: Become | None, inner: str, marker: str) -> str:
    """A command line run as another user; `marker` is the prompt that sudo then shows."""
    if not become:
        return inner
    user = shlex.quote(become.user)
    if become.method == "su":
        return f"{become.exe or 'su'} {become.flags} {user} -c {shlex.quote(inner)}"
    if become.method == "doas":  # it asks for a password only at a terminal
        return f"{become.exe or 'doas'} {become.flags} -n -u {user} {inner}"
    ask = f"-S -p {shlex.quote(marker)}" if become.password else "-n"
    flags = become.flags or "-H"
    if become.password:  # sudo refuses to ask for it with these
        flags = re.sub(r"(?<!\S)(-n|--non-interactive)(?!\S)", "", flags)
    there = f"cd {shlex.quote(become.chdir)} && " if become.chdir else ""
    return f"{there}{become.exe or 'sudo'} {flags} {ask} -u {user} {inner}"


_making = threading.Lock()
_MAGIC = importlib.util.MAGIC_NUMBER.hex()  # compiled code runs on hosts whose Python has the same


@cache
def agent_code() -> tuple[bytes, bytes]:
    """The agent, compiled and as source."""
    name = "playrunner.hostside.agent"
    return zlib.compress(module_index.compiled(name)), zlib.compress(
        module_index.source_file(name).read_bytes(), 1
    )


@cache
def loaded_at_start() -> frozenset[str]:
    """The names of the code that an agent is sent before its first step."""
    return frozenset(name for name, _ in module_index.sources())


def first_bytes() -> bytes:
    """What every agent is sent first: its own code, the limits it has to keep, and the code that
    every step needs."""
    settings = json.dumps(limits().for_agent()).encode() + b"\n"
    return b"".join((*agent_code(), settings, code_frame("", frozenset())))


def prepare(module: str) -> None:
    """Make what all hosts are sent, before threads ask for it: each would make it for itself."""
    first_bytes()
    module_index.module_class(module)
    code_frame(module_index.import_path(module), loaded_at_start())


def code_frame(path: str, loaded: frozenset[str]) -> bytes:
    """The code a module needs and the agent does not have yet; cached, as all hosts get the
    same."""
    with _making:  # many hosts ask at the same moment
        return _packed_code(path, loaded)


@cache
def _packed_code(path: str, loaded: frozenset[str]) -> bytes:
    missing = [(name, text) for name, text in module_index.sources(path) if name not in loaded]
    compiled = _packed(
        [(name, module_index.compiled(name) if text else b"") for name, text in missing], 6
    )
    sources = _packed(missing, 1)
    head = {
        "op": "code",
        "magic": _MAGIC,
        "compiled": len(compiled),
        "body": len(compiled) + len(sources),
    }
    return json.dumps(head).encode() + b"\n" + compiled + sources


def _packed(value: Any, effort: int) -> bytes:
    return zlib.compress(marshal.dumps(value, MARSHAL_VERSION), effort)
