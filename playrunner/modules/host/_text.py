"""A text file with an edit made in it: what lineinfile, blockinfile and replace have in common."""

from __future__ import annotations

import os

from playrunner.hostside.module import Failed
from playrunner.modules.host._content import backup_of, read_bytes, sha1_of
from playrunner.modules.host._paths import (
    apply_change,
    expanded,
    file_state,
    first_missing,
    look,
)
from playrunner.modules.host._placed import Placed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, ClassVar, Optional

    from playrunner.hostside.host_context import HostContext
    from playrunner.hostside.state import Change, State


class Edit:
    """A text before and after an edit, and what the result says about it."""

    __slots__ = ("message", "new", "old")

    def __init__(self, old: str, new: str, message: str) -> None:
        self.old, self.new, self.message = old, new, message


class Edited(Placed):
    """A file whose text is edited; subclasses say how."""

    aliases: ClassVar[dict[str, str]] = {"dest": "path", "destfile": "path", "name": "path"}

    path: str  # the file to edit
    backup: bool = False  # keep a copy of the file as it was
    # A command that checks the new file before it replaces the old; %s stands for it
    validate: str | None = None

    def edited(self, text: str, exists: bool) -> tuple[str, str]:
        """The text as it should be, and a few words on what differs."""
        raise NotImplementedError

    def may_create(self) -> bool:
        """Whether a missing file is created; otherwise it is an error."""
        return bool(getattr(self, "create", False))

    def message_when_missing(self) -> Optional[str]:
        """The result's message when a missing file is as it should be; None when it is not."""
        return None

    def text_encoding(self) -> str:
        return "utf-8"

    def observe(self, ctx: HostContext) -> Optional[State]:
        path = self._real_path()
        if os.path.isdir(path):
            raise Failed(f"Path {path} is a directory !", rc=256)
        if not os.path.exists(path):
            if self.message_when_missing():
                return None
            if not self.may_create():
                raise Failed(
                    f"Destination {path} does not exist !",
                    rc=257,
                )
            missing = first_missing(path)
            return {"kind": "absent", "above": missing} if missing else None
        data = ctx.memory["data"] = read_bytes(path)
        return look(ctx, path, data=data)

    def desired(self, ctx: HostContext, current: Optional[State]) -> Optional[State]:
        message = self.message_when_missing()
        if current is None and message:
            ctx.memory["edit"] = Edit("", "", message)
            return None
        existing = None if current is None or current["kind"] == "absent" else current
        old = ctx.memory.get("data", b"").decode(self.text_encoding(), "surrogateescape")
        edit = ctx.memory["edit"] = Edit(old, *self.edited(old, existing is not None))
        if existing and edit.new == edit.old:
            target: State = {"kind": existing["kind"]}
        else:
            new = self._encoded(edit)
            target = file_state(ctx, sha1_of((new,)), existing, new)
        if current and not existing:
            target["above"] = None
        access = self.access_state(ctx, existing)
        if existing and any(existing.get(key) != value for key, value in access.items()):
            edit.message += " and " if edit.message else ""
            edit.message += "ownership, perms or SE linux context changed"
        return {**target, **access}

    def apply(self, ctx: HostContext, change: Change) -> None:
        path, after, edit = self._real_path(), change.after, ctx.memory.get("edit")
        new = self._encoded(edit) if edit else b""
        # Restoring an earlier state writes other content than the edit's, and needs no backup.
        edits = edit is not None and after is not None and after.get("sha1") == sha1_of((new,))
        if edits and os.path.exists(path):
            if self.backup:
                ctx.memory["backup_file"] = backup_of(ctx, path)
        elif edits:
            os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
        apply_change(
            ctx,
            path,
            change,
            (new,) if edits else None,
            self.validate if edits else None,
            self.unsafe_writes,
        )

    def returns(self, ctx: HostContext, change: Change) -> dict[str, Any]:
        edit, backup_file = ctx.memory.get("edit"), ctx.memory.get("backup_file")
        return {
            "msg": edit.message if edit else "",
            **({"backup_file": backup_file} if backup_file else {}),
        }

    def _encoded(self, edit: Edit) -> bytes:
        return edit.new.encode(self.text_encoding(), "surrogateescape")

    def _real_path(self) -> str:
        return os.path.realpath(expanded(self.path))


def lines_of(text: str) -> list[str]:
    """The lines with their ends; only a newline ends a line."""
    lines = text.split("\n")
    last = lines.pop()
    return [line + "\n" for line in lines] + ([last] if last else [])


def bare(line: str) -> str:
    return line.rstrip("\r\n")


def compiled(pattern: str, argument: str, flags: int = 0) -> Any:
    import re

    try:
        return re.compile(pattern, flags)
    except re.error as error:
        raise Failed(f"{argument} is not a regular expression: {pattern}: {error}") from None
