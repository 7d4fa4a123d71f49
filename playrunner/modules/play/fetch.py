"""play.fetch: a file of the host, copied to this machine."""

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
from playrunner.text import atomic_write
from playrunner.text.safe_path import Outside, file_name, inside

if TYPE_CHECKING:
    from playrunner.hostside.state import State


class Fetch(Module):
    """A file of the host, copied to this machine."""

    src: str  # the file on the host
    dest: str  # where to put it here; without `flat`, dest/HOST/src
    flat: bool = False  # put it at `dest` itself
    fail_on_missing: bool = True  # a missing file is a failure
    validate_checksum: bool = True  # compare what arrived with what was sent

    def observe(self, ctx: Context) -> State | None:
        path = self._local_path(ctx)
        if not path.is_file() or path.is_symlink():
            return None
        return {"sha1": hashlib.sha1(path.read_bytes()).hexdigest()}

    def desired(self, ctx: Context, observed: State | None) -> State | None:
        checksum, problem = self._remote(ctx)
        if not problem:
            return {"sha1": checksum}
        if self.fail_on_missing:
            raise Failed(f"{self.src} cannot be fetched: {problem}", file=self.src)
        return observed

    def apply(self, ctx: Context, change: Change) -> None:
        assert change.after
        answer, _ = ctx.on_host("host.slurp", {"src": self.src})
        if answer.get("failed"):
            raise Failed(str(answer.get("msg")), file=self.src)
        try:
            content = base64.b64decode(answer["content"], validate=True)
        except (KeyError, TypeError, ValueError):
            raise Failed(
                f"{self.src} cannot be fetched: the host's answer holds no content", file=self.src
            ) from None
        if self.validate_checksum and hashlib.sha1(content).hexdigest() != change.after["sha1"]:
            raise Failed(f"{self.src} changed while it was fetched; run again", file=self.src)
        path = self._local_path(ctx)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            atomic_write.write_bytes(path, content, durable=False)
        except OSError as error:
            raise Failed(
                f"{self.src} cannot be written to {path}: {error.strerror}", file=self.src
            ) from None

    def returns(self, ctx: Context, change: Change) -> dict[str, Any]:
        # Without a change, a file that cannot be fetched looks like one that is already here.
        problem = "" if change or self.fail_on_missing else self._remote(ctx)[1]
        if problem or not change.after:
            return {"msg": f"{problem}; not fetched", "file": self.src}
        checksum = change.after["sha1"]
        return {
            "dest": str(self._local_path(ctx)),
            "checksum": checksum,
            "remote_checksum": checksum,
            "file": self.src,
        }

    def _remote(self, ctx: Context) -> tuple[str, str]:
        """The checksum of the file on the host, and why it cannot be fetched (or nothing)."""
        answer, _ = ctx.on_host("host.stat", {"path": self.src, "follow": True})
        stat = answer.get("stat")
        stat = stat if isinstance(stat, dict) else {}
        checksum = str(stat.get("checksum") or "")
        return checksum, str(answer.get("msg") or "") or _problem(stat, checksum)

    def _local_path(self, ctx: Context) -> Path:
        dest = Path(os.path.expanduser(self.dest))
        if not dest.is_absolute():
            dest = Path(str(ctx.evaluate("playbook_dir"))) / dest
        # The path may come from the host (find, stat), so it may only choose names below dest.
        try:
            if not self.flat:
                return inside(dest / file_name(ctx.host), self.src)
            if self.dest.endswith("/") or dest.is_dir():
                return inside(dest, os.path.basename(posixpath.normpath("/" + self.src)))
        except Outside as error:
            raise Failed(f"{self.src} is not fetched: {error}", file=self.src) from None
        return dest


def _problem(stat: dict[str, Any], checksum: str) -> str:
    if not stat.get("exists"):
        return "the file does not exist"
    if stat.get("isdir"):
        return "it is a folder, and only files can be fetched"
    return "" if checksum else "the file cannot be read"
