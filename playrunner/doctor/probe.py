"""Collects facts of a machine: programs and versions, free disk space, clock. Run here or sent to
a host.

Only the standard library of Python 3.9: a jump host may have nothing newer.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_ANSWER_SECONDS = 20
# Where sshd is; not on an ordinary user's PATH
_SYSTEM_FOLDERS = "/usr/sbin:/sbin"
_MANAGERS = ("apt-get", "dnf", "yum", "zypper", "brew")


def probe_machine(query: dict[str, Any]) -> dict[str, Any]:
    """The query: `tools` with the arguments that print their version, `folders` whose free space is
    wanted, `files` that may exist."""
    path = os.pathsep.join(filter(None, [os.environ.get("PATH", ""), _SYSTEM_FOLDERS]))
    tools = {}
    for name, arguments in query["tools"].items():
        program = shutil.which(name, path=path)
        tools[name] = {
            "path": program or "",
            **(_version_output([program, *arguments]) if program else {"code": 127, "text": ""}),
        }
    return {
        "tools": tools,
        "python": [sys.executable, list(sys.version_info[:3])],
        "time": time.time(),
        "free": {folder: _free_gib(folder) for folder in query["folders"]},
        "files": {file: os.path.exists(os.path.expanduser(file)) for file in query["files"]},
        "manager": next((name for name in _MANAGERS if shutil.which(name, path=path)), ""),
        "root": os.geteuid() == 0,
    }


def _version_output(command: list[str]) -> dict[str, Any]:
    try:
        ran = subprocess.run(
            command,
            check=False,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=_ANSWER_SECONDS,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return {"code": 126, "text": str(error)}
    lines = ran.stdout.decode(errors="replace").strip().splitlines()
    return {"code": ran.returncode, "text": lines[0] if lines else ""}


def _free_gib(folder: str) -> float:
    """Of the file system where the folder is or would be."""
    folder = os.path.abspath(os.path.expanduser(folder))
    while not os.path.isdir(folder):
        folder = os.path.dirname(folder)
    return round(shutil.disk_usage(folder).free / 2**30, 2)


if __name__ == "__main__":
    print(json.dumps(probe_machine(json.loads(sys.argv[1]))))
