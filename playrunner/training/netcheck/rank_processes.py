"""Programs that measure together, one for each rank, and what each of them says."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from playrunner.errors import PlayrunnerError
from playrunner.ssh.connection import Channel
from playrunner.ssh.fleet import Fleet

_LAST_WORDS_SECONDS = 2.0


@dataclass
class Voice:
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


def hear_all(
    fleet: Fleet, parts: Sequence[tuple[str, str]], seconds: float, enough: Callable[[Voice], bool]
) -> list[Voice]:
    """Start every (host, command) at once, in rank order; until all are done, or rank 0 has said
    enough. None is left behind."""
    voices = [Voice(rank, host) for rank, (host, _) in enumerate(parts)]
    threads = [
        threading.Thread(target=_hear, args=(fleet, voice, command), daemon=True)
        for voice, (_, command) in zip(voices, parts, strict=True)
    ]
    try:
        for thread in threads:
            thread.start()
        deadline = time.monotonic() + seconds
        while (
            time.monotonic() < deadline
            and not enough(voices[0])
            and not all(voice.done.is_set() for voice in voices)
        ):
            voices[0].done.wait(0.1)
        voices[0].done.wait(_LAST_WORDS_SECONDS)
    finally:
        for voice in voices:
            if voice.channel:
                voice.channel.close()
    return voices


def _hear(fleet: Fleet, voice: Voice, command: str) -> None:
    try:
        channel = voice.channel = fleet.start(voice.host, command)
        parts = b""
        while data := channel.receive():
            parts += data
            voice.out = parts.decode(errors="replace")
        voice.err = channel.complaints()
        voice.code = channel.status()
    except (PlayrunnerError, OSError, EOFError) as error:
        voice.err = str(error)
    finally:
        voice.done.set()
