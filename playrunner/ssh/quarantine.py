"""Quarantine: hosts that are not to be used for a while, each with a reason and an expiry,
remembered on this machine."""

from __future__ import annotations

import getpass
import json
import os
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from playrunner.errors import BadInput
from playrunner.record.ledger import state_directory
from playrunner.ssh.fleet import Fleet
from playrunner.text.documents import read_json_object

DEFAULT_TIME = (  # long enough for somebody to look at it in daylight, short enough not to be forgotten
    "24h"
)
_SECONDS = {"m": 60, "h": 3600, "d": 86400, "w": 604800}


@dataclass(frozen=True)
class Entry:
    """Why and until when."""

    host: str
    reason: str
    since: float
    until: float
    who: str = ""

    @property
    def expired(self) -> bool:
        return self.until <= time.time()

    @property
    def text(self) -> str:
        return (
            f"{self.reason} (until {time.strftime('%Y-%m-%d %H:%M', time.localtime(self.until))})"
        )


class Quarantine:
    """The hosts of an inventory, known by name and address: a machine that is replaced under its
    name comes back clean."""

    def __init__(self, fleet: Fleet) -> None:
        self._fleet = fleet
        self._file = state_directory() / "quarantine.json"

    def entries(self) -> dict[str, Entry]:
        """Those of the inventory's hosts that are in quarantine now."""
        known = {key: entry for key, entry in self._read().items() if not entry.expired}
        hosts = [
            host
            for host in {entry.host for entry in known.values()}
            if host in self._fleet.inventory.hosts
        ]
        return {host: known[self._key(host)] for host in sorted(hosts) if self._key(host) in known}

    def knows(self, host: str) -> bool:
        return host in self._fleet.inventory.hosts

    def put(self, host: str, reason: str, seconds: float) -> Entry:
        """A later expiry than the one there is counts; so does the newer reason."""
        now = time.time()
        with self._held() as entries:
            before = entries.get(self._key(host))
            until = max(now + seconds, before.until if before else 0)
            entries[self._key(host)] = Entry(
                host, reason, before.since if before and not before.expired else now, until, who()
            )
            return entries[self._key(host)]

    def release(self, host: str) -> bool:
        """Whether it was in quarantine."""
        with self._held() as entries:
            entry = entries.pop(self._key(host), None)
            return entry is not None and not entry.expired

    def _key(self, host: str) -> str:
        target = self._fleet.target(host)
        return f"{host} {target.address}:{target.port}"

    def _read(self) -> dict[str, Entry]:
        try:
            found = read_json_object(self._file) if self._file.exists() else {}
            return {key: Entry(**each) for key, each in found.items()}
        except (BadInput, TypeError) as error:
            raise BadInput(
                f"{self._file} cannot be read: {error}; remove it to let all nodes out of"
                " quarantine"
            ) from None

    @contextmanager
    def _held(self) -> Iterator[dict[str, Entry]]:
        """What is written down, and is written down again afterwards; one at a time."""
        from filelock import FileLock

        self._file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with FileLock(f"{self._file}.lock"):
            entries = {key: entry for key, entry in self._read().items() if not entry.expired}
            yield entries
            draft = Path(f"{self._file}.draft")
            draft.write_text(
                json.dumps({key: asdict(entry) for key, entry in entries.items()}, indent=1) + "\n"
            )
            os.replace(draft, self._file)


def seconds_of(text: str) -> float:
    """`24h` in seconds."""
    found = re.fullmatch(r"(\d+)([mhdw])", str(text).strip())
    if not found or not int(found[1]):
        raise BadInput(f'a quarantine lasts a time such as 90m, 24h or 3d, not "{text}"')
    return float(int(found[1]) * _SECONDS[found[2]])


def as_data(entry: Entry) -> dict[str, Any]:
    stamp = "%Y-%m-%dT%H:%M:%SZ"
    return {
        "host": entry.host,
        "reason": entry.reason,
        "since": time.strftime(stamp, time.gmtime(entry.since)),
        "until": time.strftime(stamp, time.gmtime(entry.until)),
        "who": entry.who,
        "expired": entry.expired,
    }


def who() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a user id without an entry
        return ""
