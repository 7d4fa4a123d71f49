"""Programs that are run to build the assets, and the progress that is shown."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import threading
import time
from pathlib import Path

VERSION = "1.20.2"

_began = time.monotonic()


class CannotBuild(Exception):
    """Something is missing or went wrong; the message says what, and what to do next."""


def run(
    *command: str, cwd: Path | None = None, env: dict[str, str] | None = None, lines: str = ""
) -> str:
    """Run to the end and return what it printed. With `lines`, tell every half minute how many
    there were (of what)."""
    program = subprocess.Popen(
        command,
        cwd=cwd,
        env={**os.environ, "LC_ALL": "C", **(env or {})},
        text=True,
        errors="replace",
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    output: list[str] = []
    over = threading.Event()

    def beat() -> None:
        while not over.wait(30):
            tell(f"  {len(output)} {lines}")

    if lines:
        threading.Thread(target=beat, daemon=True).start()
    try:
        assert program.stdout
        output.extend(iter(program.stdout.readline, ""))
        code = program.wait()
    except BaseException:
        program.terminate()
        program.wait()
        raise
    finally:
        over.set()
    if code:
        shown = f"{Path(command[0]).name} ... {' '.join(command[1:])[-80:]}"
        raise CannotBuild(f"'{shown}' ended with {code}:\n{''.join(output[-15:]).rstrip()}")
    return "".join(output)


def remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink()


def tell(what: str) -> None:
    print(f"kube-assets: {time.monotonic() - _began:4.0f} s  {what}", file=sys.stderr, flush=True)
