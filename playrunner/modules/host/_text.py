"""A text file with an edit made in it: what lineinfile, blockinfile and replace have in common."""

from __future__ import annotations

import os

from playrunner.hostside.module import Failed
from playrunner.modules.host._content import backup_of, read_bytes, sha1_of
from playrunner.modules.host._paths import Placed, bring, expanded, file_state, first_missing, look

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, ClassVar, Optional

    from playrunner.hostside.state import Change, State


class Edited(Placed):
    """A file whose text is edited; subclasses say how."""

    aliases: ClassVar[dict[str, str]] = {"dest": "path", "destfile": "path", "name": "path"}

    path: str  # the file to edit
    backup: bool = False  # keep a copy of the file as it was
    # A command that checks the new file before it replaces the old; %s stands for it
    validate: str | None = None

    # What was read, what it becomes and what to say of it; not arguments.
    _text = ""
    _new = b""
    _said = ""
    _missing = False
    _backup_file = ""
    encoding_used = "utf-8"

    def edited(self, text: str) -> tuple[str, str]:
        """The text as it should be, and a few words on what is different."""
        raise NotImplementedError

    def may_create(self) -> bool:
        """Whether a missing file is made rather than complained about."""
        return bool(getattr(self, "create", False))

    def said_of_missing(self) -> Optional[str]:
        """What to say of a missing file when that is as it should be; None when it is not."""
        return None

    def observe(self, ctx: Any) -> Optional[State]:
        path = self._place()
        if os.path.isdir(path):
            raise Failed(f"Path {path} is a directory !; name a file", rc=256)
        if not os.path.exists(path):
            if self.said_of_missing():
                return None
            if not self.may_create():
                raise Failed(
                    f"Destination {path} does not exist !; make it first, or say create: true",
                    rc=257,
                )
            self._missing = True
            missing = first_missing(path)
            return {"kind": "absent", "above": missing} if missing else None
        data = read_bytes(path)
        self._text = data.decode(self.encoding_used, "surrogateescape")
        return look(ctx, path, data=data)

    def desired(self, ctx: Any, found: Optional[State]) -> Optional[State]:
        if found is None and self.said_of_missing():
            self._said = str(self.said_of_missing())
            return None
        text, self._said = self.edited(self._text)
        there = None if found is None or found["kind"] == "absent" else found
        self._new = text.encode(self.encoding_used, "surrogateescape")
        if there and text == self._text:
            wanted: State = {"kind": there["kind"]}
        else:
            wanted = file_state(ctx, sha1_of((self._new,)), there, self._new)
        if found and not there:
            wanted["above"] = None
        attributes = self.attributes(ctx, there)
        if there and any(there[key] != value for key, value in attributes.items()):
            self._said += (
                " and " if self._said else ""
            ) + "ownership, perms or SE linux context changed"
        return {**wanted, **attributes}

    def apply(self, ctx: Any, change: Change) -> None:
        path = self._place()
        after = change.after
        # Taking a change back brings other content than the edit's, and leaves no second backup.
        edits = after is not None and after.get("sha1") == sha1_of((self._new,))
        if edits and os.path.exists(path):
            if self.backup:
                self._backup_file = backup_of(ctx, path)
        elif edits:
            os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
        bring(
            ctx,
            path,
            change,
            (self._new,) if edits else None,
            self.validate if edits else None,
            self.unsafe_writes,
        )

    def returns(self, ctx: Any, change: Change) -> dict[str, Any]:
        return {
            "msg": self._said,
            **({"backup_file": self._backup_file} if self._backup_file else {}),
        }

    def _place(self) -> str:
        return os.path.realpath(expanded(self.path))


def lines_of(text: str) -> list[str]:
    """The lines with their ends; only a newline ends one, whatever else looks like it."""
    pieces = text.split("\n")
    last = pieces.pop()
    return [piece + "\n" for piece in pieces] + ([last] if last else [])


def bare(line: str) -> str:
    return line.rstrip("\r\n")


def compiled(pattern: str, argument: str, flags: int = 0) -> Any:
    import re

    try:
        return re.compile(pattern, flags)
    except re.error as error:
        raise Failed(f"{argument} is not a regular expression: {pattern}: {error}") from None
