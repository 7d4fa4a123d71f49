"""A training script whose second rank meets one of many faults after three steps."""

from __future__ import annotations

import ctypes
import mmap
import os
import resource
import socket
import sys
import time
from pathlib import Path

from playrunner import metrics


def segfault() -> None:
    ctypes.string_at(0)


def bus_error() -> None:
    path = Path(f"{os.environ['RUN_DIR']}/mapped")
    path.write_bytes(b"x" * mmap.PAGESIZE)
    with path.open("r+b") as file:
        mapped = mmap.mmap(file.fileno(), mmap.PAGESIZE)
        file.truncate(0)
        print(mapped[0])


def no_memory() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))
    bytearray(1 << 34)


def killed_for_memory() -> None:
    group = Path("/sys/fs/cgroup/memory") / f"playrunner-test-{os.getpid()}"
    group.mkdir()
    (group / "memory.limit_in_bytes").write_text("50M")
    (group / "cgroup.procs").write_text(str(os.getpid()))
    bytearray(400 << 20)


def no_files() -> None:
    resource.setrlimit(resource.RLIMIT_NOFILE, (32, 32))
    print([open("/dev/null") for _ in range(64)])  # noqa: SIM115


def no_package() -> None:
    __import__("a_library_that_is_nowhere")


def port_taken() -> None:
    first, second = socket.socket(), socket.socket()
    first.bind(("127.0.0.1", 0))
    first.listen()
    second.bind(first.getsockname())


def offline() -> None:
    raise OSError("couldn't connect to 'https://huggingface.co' to load this file")


def own_error() -> None:
    raise RuntimeError("the batch has no column named text")


def wait() -> None:
    time.sleep(600)


def main(kind: str, moment: str) -> None:
    for step in range(1, 4):
        metrics.log(step, loss=3.0 / step)
    if os.environ["RANK"] != "1":
        wait()
    time.sleep(1)
    Path(moment).write_text(str(time.time()))
    globals()[kind]()


if __name__ == "__main__":
    main(*sys.argv[1:])
