"""async: a step that goes on in a process of its own, which writes its result to a file.

Travels to hosts, so: the standard library only, Python 3.9, and nothing that is slow to import.
"""

from __future__ import annotations

import json
import os
import threading
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


def async_folder() -> str:
    folder = os.environ.get("PLAYRUNNER_ASYNC_DIR")
    return (
        os.path.expanduser(folder)
        if folder
        else os.path.join(os.path.expanduser("~"), ".ansible_async")
    )


def start_async(
    request: dict[str, Any], ctx: Any, run: Callable[[dict[str, Any], Any], dict[str, Any]]
) -> dict[str, Any]:
    """Run the step in a process that outlives this one; `async_status` reads its result file."""
    job = f"j{int(time.time())}{request['id']}.{os.getpid()}"
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
    ctx.wire.lock = threading.Lock()  # the old one may be held by a thread that fork did not copy
    try:
        result = run({**request, "timeout": request["async"]}, ctx)
        _write_whole(path, {**result, "ansible_job_id": job, "started": True, "finished": True})
    finally:
        os._exit(0)


def _write_whole(path: str, value: dict[str, Any]) -> None:
    with open(path + ".new", "w", opener=lambda name, flags: os.open(name, flags, 0o600)) as file:
        json.dump(value, file, default=str)
    os.replace(path + ".new", path)
