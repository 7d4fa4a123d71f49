"""async: a step that goes on in a process of its own, which writes its result to a file.

Travels to hosts, so: the standard library only, Python 3.9, and nothing that is slow to import.
"""

from __future__ import annotations

import _thread
import os
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from playrunner.hostside.host_context import HostContext

SHA1_LENGTH = 40


def async_folder() -> str:
    folder = os.environ.get("PLAYRUNNER_ASYNC_DIR")
    return (
        os.path.expanduser(folder)
        if folder
        else os.path.join(os.path.expanduser("~"), ".ansible_async")
    )


def start_async(
    request: dict[str, Any],
    ctx: HostContext,
    run: Callable[[dict[str, Any], HostContext], dict[str, Any]],
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
    _fetch_files(request, ctx)
    _write_whole(path, started)
    if os.fork():
        os.wait()
        return started
    os.setsid()
    if os.fork():
        os._exit(0)
    for fd in (0, 1, 2, ctx.wire.out):
        os.dup2(os.open(os.devnull, os.O_RDWR), fd)
    # The old lock may be held by a thread that fork did not copy.
    ctx.wire.lock = _thread.allocate_lock()
    try:
        result = run({**request, "timeout": request["async"]}, ctx)
        _write_whole(path, {**result, "ansible_job_id": job, "started": True, "finished": True})
    finally:
        os._exit(0)


def _fetch_files(request: dict[str, Any], ctx: HostContext) -> None:
    """Ask the controller for all files of the step: the new process cannot."""
    module = getattr(sys.modules[request["module"]], request["class"])(**request["args"])
    fetch = getattr(module, "fetch_files", None)
    if fetch:
        fetch(ctx)
        return
    for upload in _uploads(request["args"]):
        ctx.blob(upload)


def _uploads(value: Any) -> Iterator[dict[str, Any]]:
    if isinstance(value, dict):
        if "size" in value and len(str(value.get("sha1"))) == SHA1_LENGTH:
            yield value
            return
        value = list(value.values())
    for inner in value if isinstance(value, list) else ():
        yield from _uploads(inner)


def _write_whole(path: str, value: dict[str, Any]) -> None:
    import json

    with open(path + ".new", "w", opener=lambda name, flags: os.open(name, flags, 0o600)) as file:
        json.dump(value, file, default=str)
    os.replace(path + ".new", path)
