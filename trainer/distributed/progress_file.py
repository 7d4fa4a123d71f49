"""A rank's progress file: its step, phase and since when, readable by others even when it hangs.

The first line of a small file that is mapped into memory: `pid step phase collective time`. Writing
it is no system call and takes a microsecond. The second line is written only while a rank makes no
progress: the collectives that torch reports as open.
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
_POLL_SECONDS, _STUCK_SECONDS = 1.0, 5.0
_MAX_SHOWN = 3
# The first steps compile and record graphs; no other thread may use the GPU meanwhile
_WARM_STEPS = 2


class ProgressFile:
    """Without a path it is anonymous memory that only this process sees."""

    def __init__(self, path: Path | None = None) -> None:
        self._page = _mapped(path)
        self._pid = os.getpid()
        self._step, self._phase, self._collective = 0, "start", "-"
        self.spent: dict[str, float] = {}  # seconds in each phase
        self._since = self._entered = time.time()
        self.at("start")

    def at(self, phase: str, step: int | None = None) -> None:
        """The phase that this rank enters."""
        now = time.time()
        self.spent[self._phase] = self.spent.get(self._phase, 0.0) + now - self._entered
        self._entered, self._phase = now, phase
        if step is not None:
            self._step = step
        self._write("-")

    def enter(self, collective: str) -> None:
        """A collective begins; the others wait for a rank that has not entered it."""
        self._write(collective)

    def leave(self) -> None:
        self._write("-")

    def now(self) -> tuple[str, str, int, float]:
        """The phase, the open collective, the step, and since when."""
        return self._phase, self._collective, self._step, self._since

    def watch(self) -> None:
        """While this rank makes no progress, write which collectives are open."""
        threading.Thread(target=self._watch, name="progress", daemon=True).start()

    def _write(self, collective: str) -> None:
        self._collective, self._since = collective, time.time()
        line = f"{self._pid} {self._step} {self._phase} {collective} {self._since:.3f}"
        self._page[0:_LINE] = line.encode().ljust(_LINE - 1)[: _LINE - 1] + b"\n"

    def _watch(self) -> None:
        seen, since, reported = b"", time.monotonic(), False
        while True:
            time.sleep(_POLL_SECONDS)
            now = bytes(self._page[0:_LINE])
            if now != seen:
                seen, since = now, time.monotonic()
                if reported:
                    self._write_collectives([])
                reported = False
            elif reported or self._step < _WARM_STEPS:
                continue
            elif time.monotonic() - since > _STUCK_SECONDS:
                self._write_collectives(open_collectives())
                reported = True

    def _write_collectives(self, collectives: list[dict[str, Any]]) -> None:
        text = json.dumps(collectives[:_MAX_SHOWN]).encode()
        room = _SIZE - _LINE
        self._page[_LINE:_SIZE] = (text if len(text) < room else b"[]").ljust(room - 1) + b"\n"


def open_collectives() -> list[dict[str, Any]]:
    """Collectives that torch's flight recorder has as begun and not ended, the oldest first."""
    import torch._C._distributed_c10d as c10d

    recorders = [
        getattr(c10d, name, None) for name in ("_dump_fr_trace_json", "_dump_nccl_trace_json")
    ]  # gloo's and NCCL's
    entries = [
        entry
        for dump in recorders
        if dump
        for entry in json.loads(dump(True, True) or b"{}").get("entries", ())
    ]
    return [
        {
            "name": entry.get("profiling_name", "?").partition(":")[2]
            or entry.get("profiling_name"),
            "number": entry.get("collective_seq_id"),
            "group": (entry.get("process_group") or ["", ""])[1],
        }
        for entry in entries
        if not entry.get("retired") and entry.get("state") != "completed"
    ]


def _mapped(path: Path | None) -> mmap.mmap:
    if path is not None:
        try:
            path.unlink(missing_ok=True)  # not truncated: another process may have it mapped
            with path.open("w+b") as file:
                file.write(b" " * _SIZE)  # allocated now: a full disk would crash a later write
                file.flush()
                return mmap.mmap(file.fileno(), _SIZE)
        except OSError:
            pass  # training does not depend on being watched
    return mmap.mmap(-1, _SIZE)
