"""What a machine says of itself: programs with their versions, room on its disks, its clock. Run
here, or sent to a host.

The standard library of Python 3.9 alone: a jump host may have nothing newer.
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
# Where sshd is, and where an ordinary user's PATH does not lead
_SYSTEM_FOLDERS = "/usr/sbin:/sbin"
_MANAGERS = ("apt-get", "dnf", "yum", "zypper", "brew")


def look(asked: dict[str, Any]) -> dict[str, Any]:
    """`tools`: the words that make each tell its version; `folders`: whose free space to tell;
    `files`: which may be there."""
    path = os.pathsep.join(filter(None, [os.environ.get("PATH", ""), _SYSTEM_FOLDERS]))
    tools = {}
    for name, words in asked["tools"].items():
        found = shutil.which(name, path=path)
        tools[name] = {
            "path": found or "",
            **(_said([found, *words]) if found else {"code": 127, "text": ""}),
        }
    return {
        "tools": tools,
        "python": [sys.executable, list(sys.version_info[:3])],
        "time": time.time(),
        "free": {folder: _free_gib(folder) for folder in asked["folders"]},
        "files": {file: os.path.exists(os.path.expanduser(file)) for file in asked["files"]},
        "manager": next((name for name in _MANAGERS if shutil.which(name, path=path)), ""),
        "root": os.geteuid() == 0,
    }


def _said(words: list[str]) -> dict[str, Any]:
    try:
        ran = subprocess.run(
            words,
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
    """Where the folder is, or would be."""
    folder = os.path.abspath(os.path.expanduser(folder))
    while not os.path.isdir(folder):
        folder = os.path.dirname(folder)
    return round(shutil.disk_usage(folder).free / 2**30, 2)


if __name__ == "__main__":
    print(json.dumps(look(json.loads(sys.argv[1]))))
