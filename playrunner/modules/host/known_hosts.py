"""host.known_hosts: the keys by which a host recognises the machines it connects to."""

from __future__ import annotations

import os

from playrunner.hostside.module import Failed
from playrunner.modules.host import _paths
from playrunner.modules.host._lines import LinesOfFile

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Literal

    from playrunner.hostside.host_context import HostContext
    from playrunner.hostside.state import Change, State


class KnownHosts(LinesOfFile):
    """The keys of one machine in a known_hosts file; other machines' lines stay as they are."""

    aliases = {"host": "name"}
    name: str  # the machine, as ssh looks it up: host, address or [host]:port
    key: str | None = None  # the whole line, as ssh-keyscan prints it
    path: str = "~/.ssh/known_hosts"  # the file
    hash_host: bool = False  # write the name hashed
    state: Literal["present", "absent"] = "present"  # whether the key should be known

    def observe(self, ctx: HostContext) -> State | None:
        if self.state == "present" and not self.key:
            raise Failed("No key specified when adding a host")
        if "," in self.name:
            raise Failed(
                "Comma separated list of names is not supported. Please pass a single name to"
                " lookup in the known_hosts file."
            )
        for entry in self._wanted():
            if not entry.kind:
                raise Failed(f"not a line of known_hosts (host, key type, key): {entry.text}")
            if not entry.names(self.name):
                raise Failed("Host parameter does not match hashed host field in supplied key")
        return super().observe(ctx)

    def _wanted(self) -> list[Entry]:
        lines = [text.strip() for text in (self.key or "").splitlines()]
        return [Entry(text) for text in lines if text and text[0] != "#"]

    def file(self) -> str:
        return os.path.realpath(_paths.expanded(self.path))

    def edited(self, ctx: HostContext, lines: list[str]) -> list[str]:
        entries = [Entry(text) for text in lines]
        ours = [entry for entry in entries if entry.names(self.name)]
        if self.state == "absent":
            keys = {entry.identity for entry in self._wanted()}
            return [
                entry.text
                for entry in entries
                if entry not in ours or (keys and entry.identity not in keys)
            ]
        fresh = [
            entry for entry in self._wanted() if not any(self._same(entry, there) for there in ours)
        ]
        # Lines with a marker (@cert-authority, @revoked) add up: several authorities are trusted.
        replaced = {(entry.marker, entry.kind) for entry in fresh if not entry.marker}
        kept = [
            entry.text
            for entry in entries
            if entry not in ours or (entry.marker, entry.kind) not in replaced
        ]
        return kept + [entry.hashed(self.name) if self.hash_host else entry.text for entry in fresh]

    def _same(self, wanted: Entry, there: Entry) -> bool:
        return wanted.identity == there.identity and there.is_hashed == (
            self.hash_host or wanted.is_hashed
        )

    def apply(self, ctx: HostContext, change: Change) -> None:
        folder = os.path.dirname(self.file())
        if self.path.startswith("~/.ssh/") and not os.path.isdir(folder):
            _paths.make_folders(folder, {"mode": "0700"})
        super().apply(ctx, change)

    def returns(self, ctx: HostContext, change: Change) -> dict[str, Any]:
        return {
            # With --diff or --rollback the state itself is wanted.
            **({} if ctx.diff else self._texts(ctx)),
            **_paths.facts(self.file()),
            "name": self.name,
            "key": self.key,
            "path": self.file(),
            "hash_host": self.hash_host,
        }

    def _texts(self, ctx: HostContext) -> dict[str, Any]:
        """The diff as whole texts: a public file of a few lines."""
        path, before = self.file(), ctx.memory["text"]
        data = ctx.memory.get("data")
        after = before if data is None else data.decode("utf-8", "surrogateescape")
        texts = {"before": before, "after": after}
        return {"diff": {"before_header": path, "after_header": path, **texts}}


class Entry:
    """One line: marker, hosts, key type, key, comment."""

    def __init__(self, text: str) -> None:
        self.text = text.strip()
        words = [] if self.text.startswith("#") else self.text.split()
        self.marker = words.pop(0) if words and words[0].startswith("@") else ""
        self.hosts, self.kind, self.key = words[:3] if len(words) >= 3 else ("", "", "")

    @property
    def identity(self) -> tuple[str, str, str]:
        return self.marker, self.kind, self.key

    @property
    def is_hashed(self) -> bool:
        return self.hosts.startswith("|1|")

    def names(self, host: str) -> bool:
        if not self.is_hashed:
            return host.lower() in self.hosts.lower().split(",")
        from base64 import b64decode

        _, _, salt, digest = self.hosts.split("|")
        return _digest(b64decode(salt), host) == digest

    def hashed(self, host: str) -> str:
        from base64 import b64encode

        salt = os.urandom(20)
        name = f"|1|{b64encode(salt).decode()}|{_digest(salt, host)}"
        return " ".join(part for part in (self.marker, name, self.kind, self.key) if part)


def _digest(salt: bytes, host: str) -> str:
    import hmac
    from base64 import b64encode

    return b64encode(hmac.new(salt, host.lower().encode(), "sha1").digest()).decode()
