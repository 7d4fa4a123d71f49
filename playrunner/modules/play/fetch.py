"""play.fetch: a file of the host, brought to this machine."""

from __future__ import annotations

import base64
import hashlib
import os
import posixpath
from pathlib import Path
from typing import TYPE_CHECKING, Any

from playrunner.hostside.module import Failed, Module
from playrunner.hostside.state import Change
from playrunner.run.context import Context
from playrunner.text.safe_path import Outside, file_name, inside, write_whole

if TYPE_CHECKING:
    from playrunner.hostside.state import State


class Fetch(Module):
    """A file of the host, brought to this machine."""

    src: str  # the file on the host
    dest: str  # where to put it here; without `flat`, dest/HOST/src
    flat: bool = False  # put it at `dest` itself
    fail_on_missing: bool = True  # a missing file is a failure
    validate_checksum: bool = True  # compare what arrived with what was sent

    def observe(self, ctx: Context) -> State | None:
        self.path = self._place(ctx)
        seen, _ = ctx.on_host("host.stat", {"path": self.src, "follow": True})
        there = seen.get("stat")
        there = there if isinstance(there, dict) else {}
        self.remote = str(there.get("checksum") or "")
        self.problem = str(seen.get("msg") or "") or _problem(there, self.remote)
        if not self.path.is_file() or self.path.is_symlink():
            return None
        return {"sha1": hashlib.sha1(self.path.read_bytes()).hexdigest()}

    def desired(self, ctx: Context, found: State | None) -> State | None:
        if not self.problem:
            return {"sha1": self.remote}
        if self.fail_on_missing:
            raise Failed(f"{self.src} cannot be fetched: {self.problem}", file=self.src)
        return found

    def apply(self, ctx: Context, change: Change) -> None:
        found, _ = ctx.on_host("host.slurp", {"src": self.src})
        if found.get("failed"):
            raise Failed(str(found.get("msg")), file=self.src)
        try:
            content = base64.b64decode(found["content"], validate=True)
        except (KeyError, TypeError, ValueError):
            raise Failed(
                f"{self.src} cannot be fetched: the host's answer holds no content", file=self.src
            ) from None
        if self.validate_checksum and hashlib.sha1(content).hexdigest() != self.remote:
            raise Failed(f"{self.src} changed while it was fetched; run again", file=self.src)
        try:
            write_whole(self.path, content)
        except OSError as error:
            raise Failed(
                f"{self.src} cannot be written to {self.path}: {error.strerror}", file=self.src
            ) from None

    def returns(self, ctx: Context, change: Change) -> dict[str, Any]:
        if self.problem:
            return {"msg": f"{self.problem}; not fetched", "file": self.src}
        return {
            "dest": str(self.path),
            "checksum": self.remote,
            "remote_checksum": self.remote,
            "file": self.src,
        }

    def _place(self, ctx: Context) -> Path:
        dest = Path(os.path.expanduser(self.dest))
        if not dest.is_absolute():
            dest = Path(str(ctx.evaluate("playbook_dir"))) / dest
        # The host may have given the path (find, stat), so it decides about names below dest and
        # nothing else.
        try:
            if not self.flat:
                return inside(dest / file_name(ctx.host), self.src)
            if self.dest.endswith("/") or dest.is_dir():
                return inside(dest, os.path.basename(posixpath.normpath("/" + self.src)))
        except Outside as error:
            raise Failed(f"{self.src} is not fetched: {error}", file=self.src) from None
        return dest


def _problem(there: dict[str, Any], checksum: str) -> str:
    if not there.get("exists"):
        return "the file does not exist"
    if there.get("isdir"):
        return "it is a folder, and only files can be fetched"
    return "" if checksum else "the file cannot be read"
