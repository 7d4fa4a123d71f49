"""Hosts that are not used for a while, each with a reason and an expiry; kept on this machine."""

from __future__ import annotations

import getpass
import json
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from typing import Any

from playrunner.errors import BadInput
from playrunner.frozen import frozen
from playrunner.record.ledger import state_directory
from playrunner.ssh.fleet import Fleet
from playrunner.text import atomic_write
from playrunner.text.documents import read_json_object
from playrunner.text.file_lock import file_lock

DEFAULT_TIME = "24h"  # long enough to be looked at in daylight, short enough not to be forgotten
_SECONDS = {"m": 60, "h": 3600, "d": 86400, "w": 604800}


@frozen
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
    """The quarantined hosts of an inventory, recorded by name and address: a machine replaced under
    its name is not in quarantine."""

    def __init__(self, fleet: Fleet) -> None:
        self._fleet = fleet
        self._file = state_directory() / "quarantine.json"

    def entries(self) -> dict[str, Entry]:
        """The inventory's hosts that are in quarantine now."""
        current = {key: entry for key, entry in self._read().items() if not entry.expired}
        hosts = [
            host
            for host in {entry.host for entry in current.values()}
            if host in self._fleet.inventory.hosts
        ]
        return {
            host: current[self._key(host)] for host in sorted(hosts) if self._key(host) in current
        }

    def knows(self, host: str) -> bool:
        return host in self._fleet.inventory.hosts

    def put(self, host: str, reason: str, seconds: float) -> Entry:
        """Add a host, or extend its time and replace the reason."""
        now = time.time()
        with self._updated() as entries:
            before = entries.get(self._key(host))
            until = max(now + seconds, before.until if before else 0)
            entries[self._key(host)] = Entry(
                host, reason, before.since if before and not before.expired else now, until, who()
            )
            return entries[self._key(host)]

    def release(self, host: str) -> bool:
        """Whether it was in quarantine."""
        with self._updated() as entries:
            entry = entries.pop(self._key(host), None)
            return entry is not None and not entry.expired

    def _key(self, host: str) -> str:
        target = self._fleet.target(host)
        return f"{host} {target.address}:{target.port}"

    def _read(self) -> dict[str, Entry]:
        try:
            recorded = read_json_object(self._file) if self._file.exists() else {}
            return {key: Entry(**fields) for key, fields in recorded.items()}
        except (BadInput, TypeError) as error:
            raise BadInput(
                f"{self._file} cannot be read: {error}; delete it to release all nodes from"
                " quarantine"
            ) from None

    @contextmanager
    def _updated(self) -> Iterator[dict[str, Entry]]:
        """Lock the file, hand out its entries and write them back."""
        self._file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with file_lock(self._file.with_name(f"{self._file.name}.lock")):
            entries = {key: entry for key, entry in self._read().items() if not entry.expired}
            yield entries
            data = {key: asdict(entry) for key, entry in entries.items()}
            atomic_write.write_text(self._file, json.dumps(data, indent=1) + "\n")


def seconds_of(text: str) -> float:
    """`24h` in seconds."""
    match = re.fullmatch(r"(\d+)([mhdw])", str(text).strip())
    if not match or not int(match[1]):
        raise BadInput(f'the duration of a quarantine must be such as 90m, 24h or 3d, not "{text}"')
    return float(int(match[1]) * _SECONDS[match[2]])


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
