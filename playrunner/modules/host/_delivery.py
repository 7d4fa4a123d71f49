"""One file with given content at a path: what copy, template and assemble have in common.

An entry says what to deliver: `name`, `sha1`, `mode`, and its bytes as `data`, as a path on the
host under `from`, or as something the controller ships.
"""

from __future__ import annotations

import os

from playrunner.hostside.module import Failed
from playrunner.modules.host._content import (
    TEXT_LIMIT,
    Source,
    backup_of,
    chunks_of,
    md5_of,
    read_bytes,
    sha1_of,
)
from playrunner.modules.host._large_files import LargeFile, is_large
from playrunner.modules.host._paths import (
    apply_change,
    expanded,
    facts,
    file_state,
    first_missing,
    look,
    make_folders,
    mode_state,
)
from playrunner.modules.host._placed import Placed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any, Optional

    from playrunner.hostside.host_context import HostContext
    from playrunner.hostside.state import Change, State

    Entry = dict[str, Any]


MOST_SUMMED = 16 << 20  # bytes of a file whose MD5 is returned


class Delivered(Placed):
    """A file with given content; subclasses say which."""

    dest: str  # where it goes; a directory, or a path that ends in /, keeps the source's name
    backup: bool = False  # keep a copy of the file as it was
    force: bool = True  # replace a file that is different; otherwise only make a missing one
    follow: bool = False  # write through a link at dest rather than replace it
    # A command that checks the new file before it replaces the old; %s stands for it
    validate: str | None = None

    def entry(self, ctx: HostContext) -> Entry:
        """What to deliver."""
        raise NotImplementedError

    def observe(self, ctx: HostContext) -> Optional[State]:
        entry = ctx.memory["entry"] = self.entry(ctx)
        path = ctx.memory["path"] = self.place(entry["name"])
        found = look(ctx, path)
        if found is None and self.dest.endswith("/"):
            missing = first_missing(path)
            return {"kind": "absent", "above": missing} if missing else None
        return found

    def desired(self, ctx: HostContext, current: Optional[State]) -> Optional[State]:
        existing = None if current is None or current["kind"] == "absent" else current
        if existing and not self.force:
            return {"kind": existing["kind"]}
        if existing and existing["kind"] == "directory":
            path = ctx.memory["path"]
            raise Failed(
                f"{path} is a directory, and a file cannot replace it; remove it first", dest=path
            )
        wanted = self.entry_state(ctx, ctx.memory["entry"], existing)
        if current and not existing:
            wanted["above"] = None
        return wanted

    def entry_state(self, ctx: HostContext, entry: Entry, existing: Optional[State]) -> State:
        data = None
        if (
            ctx.diff
            and entry.get("size", 0) <= TEXT_LIMIT
            and not (existing and existing.get("sha1") == entry["sha1"])
        ):
            data = b"".join(contents(ctx, entry))
        mode = entry["mode"] if self.mode == "preserve" else self.mode
        return {
            **file_state(ctx, entry["sha1"], existing, data),
            **mode_state(mode, existing, "file"),
            **self.owner_state(ctx, existing),
        }

    def apply(self, ctx: HostContext, change: Change) -> None:
        self.deliver(ctx, ctx.memory["path"], ctx.memory["entry"], change)

    def deliver(self, ctx: HostContext, path: str, entry: Entry, change: Change) -> None:
        after, current = change.after, change.observed
        # Restoring an earlier state writes other content than the entry's, and needs no backup.
        forward = after is not None and after.get("sha1") == entry["sha1"]
        if (
            forward
            and current
            and current["kind"] == "file"
            and self.backup
            and change.touches("sha1")
        ):
            ctx.memory["backup_file"] = backup_of(ctx, path)
        if forward and current and current["kind"] == "absent":
            make_folders(
                os.path.dirname(path),
                {
                    **mode_state(self.folder_mode(), None, "directory"),
                    **self.owner_state(ctx, None),
                },
            )
        apply_change(
            ctx,
            path,
            change,
            _source(ctx, entry) if forward else None,
            self.validate if forward else None,
            self.unsafe_writes,
        )

    def folder_mode(self) -> Any:
        """The mode of folders that have to be made on the way."""
        return None

    def returns(self, ctx: HostContext, change: Change) -> dict[str, Any]:
        path = ctx.memory["path"]
        shown: dict[str, Any] = {"dest": path, "path": path, **facts(path)}
        if change.after is not None:
            shown["checksum"] = (
                ctx.memory["entry"]["sha1"]
                if "sha1" in change.after
                else (change.observed or {}).get("sha1")
            )
            if "sha1" in change.after and not ctx.check:
                shown["md5sum"] = _md5_of(path)
        source = getattr(self, "src", None)
        shown["src"] = source["name"] if isinstance(source, dict) else source
        if "backup_file" in ctx.memory:
            shown["backup_file"] = ctx.memory["backup_file"]
        return shown

    def place(self, name: str) -> str:
        path = expanded(self.dest)
        if path.endswith("/") or os.path.isdir(path):
            path = os.path.join(path, name)
        return os.path.realpath(path) if self.follow and os.path.islink(path) else path


def contents(ctx: HostContext, entry: Entry) -> Iterable[bytes]:
    """The bytes to write, in pieces."""
    if "data" in entry:
        return (entry["data"],)
    return chunks_of(entry["from"]) if "from" in entry else (ctx.blob(entry),)


def _source(ctx: HostContext, entry: Entry) -> Source:
    return LargeFile(ctx, entry) if is_large(ctx, entry) else Source(contents(ctx, entry))


def entry_of(name: str, data: bytes) -> Entry:
    return {"name": name, "sha1": sha1_of((data,)), "size": len(data), "data": data, "mode": None}


def _md5_of(path: str) -> Optional[str]:
    """The sum that ansible-core returns of what it wrote; None of large files, and where the system
    forbids it."""
    try:
        if os.path.getsize(path) > MOST_SUMMED:
            return None
        return md5_of(read_bytes(path))
    except (Failed, OSError, ValueError):
        return None
