"""Programs that measure together, one for each rank, and what each of them says."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import field

from playrunner.errors import PlayrunnerError
from playrunner.frozen import mutable
from playrunner.ssh.connection import Channel
from playrunner.ssh.fleet import Fleet

_LAST_WORDS_SECONDS = 2.0


@mutable
class RankProcess:
    """One program."""

    rank: int
    host: str
    channel: Channel | None = None
    out: str = ""
    err: str = ""
    code: int = -1
    done: threading.Event = field(default_factory=threading.Event)

    @property
    def last_words(self) -> str:
        lines = [line for line in self.err.splitlines() if line.strip()]
        return lines[-1].strip() if lines else f"ended with code {self.code}"


def run_all(
    fleet: Fleet,
    parts: Sequence[tuple[str, str]],
    seconds: float,
    enough: Callable[[RankProcess], bool],
) -> list[RankProcess]:
    """Start every (host, command) at once, in rank order; until all are done, or rank 0 has said
    enough. None is left behind."""
    processes = [RankProcess(rank, host) for rank, (host, _) in enumerate(parts)]
    threads = [
        threading.Thread(target=_hear, args=(fleet, process, command), daemon=True)
        for process, (_, command) in zip(processes, parts, strict=True)
    ]
    try:
        for thread in threads:
            thread.start()
        deadline = time.monotonic() + seconds
        while (
            time.monotonic() < deadline
            and not enough(processes[0])
            and not all(process.done.is_set() for process in processes)
        ):
            processes[0].done.wait(0.1)
        processes[0].done.wait(_LAST_WORDS_SECONDS)
    finally:
        for process in processes:
            if process.channel:
                process.channel.close()
    return processes


def _hear(fleet: Fleet, process: RankProcess, command: str) -> None:
    try:
        channel = process.channel = fleet.start(process.host, command)
        parts = b""
        while data := channel.receive():
            parts += data
            process.out = parts.decode(errors="replace")
        process.err = channel.stderr_text()
        process.code = channel.status()
    except (PlayrunnerError, OSError, EOFError) as error:
        process.err = str(error)
    finally:
        process.done.set()
