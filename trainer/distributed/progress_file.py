"""A rank's pulse: where it stands, written where others can read it even when it hangs: its step,
what it does, since when.

The first line of a small file that is mapped into memory: `pid step phase collective time`. Writing
it is no system call and takes a microsecond. The second line is written only while a rank does not
get on: the collectives that torch holds to be open.
"""

from __future__ import annotations

import json
import mmap
import os
import threading
import time
from pathlib import Path
from typing import Any

_LINE, _SIZE = 128, 512
_LOOK_SECONDS, _STUCK_SECONDS = 1.0, 5.0
_MOST_SHOWN = 3
# The first steps compile and record, during which no other thread may speak to a GPU
_WARM_STEPS = 2


class Pulse:
    """Without a file nobody can read it, and writing it costs as little."""

    def __init__(self, path: Path | None = None) -> None:
        self._page = _mapped(path)
        self._pid = os.getpid()
        self._step, self._phase = 0, "start"
        self.at("start")

    def at(self, phase: str, step: int | None = None) -> None:
        """What this rank begins to do."""
        self._phase = phase
        if step is not None:
            self._step = step
        self._write("-")

    def enter(self, collective: str) -> None:
        """All ranks meet there; whoever is not in it is the one they wait for."""
        self._write(collective)

    def leave(self) -> None:
        self._write("-")

    def watch(self) -> None:
        """While this rank stands still, tell which collectives are open."""
        threading.Thread(target=self._watch, name="pulse", daemon=True).start()

    def _write(self, collective: str) -> None:
        line = f"{self._pid} {self._step} {self._phase} {collective} {time.time():.3f}"
        self._page[0:_LINE] = line.encode().ljust(_LINE - 1)[: _LINE - 1] + b"\n"

    def _watch(self) -> None:
        seen, since, told = b"", time.monotonic(), False
        while True:
            time.sleep(_LOOK_SECONDS)
            now = bytes(self._page[0:_LINE])
            if now != seen:
                seen, since = now, time.monotonic()
                if told:
                    self._tell([])
                told = False
            elif (
                not told and self._step >= _WARM_STEPS and time.monotonic() - since > _STUCK_SECONDS
            ):
                self._tell(open_collectives())
                told = True

    def _tell(self, collectives: list[dict[str, Any]]) -> None:
        text = json.dumps(collectives[:_MOST_SHOWN]).encode()
        room = _SIZE - _LINE
        self._page[_LINE:_SIZE] = (text if len(text) < room else b"[]").ljust(room - 1) + b"\n"


def open_collectives() -> list[dict[str, Any]]:
    """What torch's flight recorder knows to have been begun and not ended, the oldest first: later
    ones wait for it."""
    import torch._C._distributed_c10d as c10d

    recorders = [
        getattr(c10d, name, None) for name in ("_dump_fr_trace_json", "_dump_nccl_trace_json")
    ]  # gloo's and NCCL's
    entries = [
        each
        for dump in recorders
        if dump
        for each in json.loads(dump(True, True) or b"{}").get("entries", ())
    ]
    return [
        {
            "name": each.get("profiling_name", "?").partition(":")[2] or each.get("profiling_name"),
            "number": each.get("collective_seq_id"),
            "group": (each.get("process_group") or ["", ""])[1],
        }
        for each in entries
        if not each.get("retired") and each.get("state") != "completed"
    ]


def _mapped(path: Path | None) -> mmap.mmap:
    if path is not None:
        try:
            path.unlink(
                missing_ok=True
            )  # not cut short: one of before may still be mapped somewhere
            with path.open("w+b") as file:
                file.write(
                    b" " * _SIZE
                )  # room is taken now: a full disk is an error here, and a crash later
                file.flush()
                return mmap.mmap(file.fileno(), _SIZE)
        except OSError:
            pass  # training does not depend on being watched
    return mmap.mmap(-1, _SIZE)
