"""host.lineinfile: a line that is in a file, or is not."""

from __future__ import annotations

from playrunner.hostside.module import Failed
from playrunner.modules.host._text import Edited, bare, compiled, lines_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Literal, Optional

    from playrunner.hostside.state import Change


class Lineinfile(Edited):
    """A line that is in a file, or is not."""

    aliases = {**Edited.aliases, "value": "line", "regex": "regexp"}

    line: str | None = None  # the line
    regexp: str | None = None  # the line to replace or remove matches this; of several the last
    search_string: str | None = None  # the line to replace or remove contains this text
    state: Literal["present", "absent"] = "present"  # whether the line should be there
    backrefs: bool = False  # \1 in line stands for what regexp matched; no match, no change
    insertafter: str | None = None  # put a new line after the last that matches; EOF is the end
    # Put a new line before the last that matches; BOF is the beginning
    insertbefore: str | None = None
    firstmatch: bool = False  # the first match counts, not the last
    create: bool = False  # make the file when it is not there

    _removed = 0

    @classmethod
    def check(cls, arguments: dict[str, Any]) -> Optional[str]:
        for one, other in (
            ("insertbefore", "insertafter"),
            ("regexp", "search_string"),
            ("backrefs", "search_string"),
        ):
            if arguments.get(one) and arguments.get(other):
                return f"parameters are mutually exclusive: {one}|{other}"
        if arguments.get("state") == "absent":
            if all(arguments.get(name) is None for name in ("line", "regexp", "search_string")):
                return "one of line, search_string, or regexp is required with state=absent"
        elif arguments.get("line") is None:
            return "line is required with state=present"
        elif arguments.get("backrefs") and arguments.get("regexp") is None:
            return "regexp is required with backrefs=true"
        return None

    def said_of_missing(self) -> Optional[str]:
        return "file not present" if self.state == "absent" else None

    def edited(self, text: str) -> tuple[str, str]:
        complaint = self.check(self.__dict__)
        if complaint:
            raise Failed(complaint)
        lines = lines_of(text)
        said = (
            self._without(lines) if self.state == "absent" else self._with(lines, self.line or "")
        )
        return "".join(lines), said

    def returns(self, ctx: Any, change: Change) -> dict[str, Any]:
        shown = {"msg": self._said, "backup": self._backup_file}
        if self.state == "absent" and self._said != "file not present":
            shown["found"] = self._removed  # type: ignore[assignment]
        return shown

    def _without(self, lines: list[str]) -> str:
        if self.regexp is not None:
            pattern = compiled(self.regexp, "regexp")
            kept = [line for line in lines if not pattern.search(line)]
        elif self.search_string is not None:
            kept = [line for line in lines if self.search_string not in line]
        else:
            kept = [line for line in lines if bare(line) != self.line]
        self._removed = len(lines) - len(kept)
        lines[:] = kept
        return f"{self._removed} line(s) removed" if self._removed else ""

    def _with(self, lines: list[str], line: str) -> str:
        at, match = self._replaceable(lines)
        if match is None:
            for number, text in enumerate(lines):
                if bare(text) == line:
                    at = number
        if at is not None:
            new = match.expand(line) if self.backrefs and match not in (None, True) else line
            new += "" if new.endswith("\n") else "\n"
            if lines[at] == new:
                return ""
            lines[at] = new
            return "line replaced"
        if self.backrefs:
            return ""
        return self._insert(lines, line)

    def _replaceable(self, lines: list[str]) -> tuple[Optional[int], Any]:
        """Which line regexp or search_string chooses, and the match."""
        pattern = compiled(self.regexp, "regexp") if self.regexp is not None else None
        found: tuple[Optional[int], Any] = (None, None)
        if pattern is None and self.search_string is None:
            return found
        for number, text in enumerate(lines):
            match = (
                pattern.search(text)
                if pattern
                else self.search_string is not None and self.search_string in text
            )
            if match:
                found = (number, match)
                if self.firstmatch:
                    break
        return found

    def _insert(self, lines: list[str], line: str) -> str:
        place = self._place_for_new(lines)
        if place > 0 and not lines[place - 1].endswith("\n"):
            lines[place - 1] += "\n"
        lines.insert(place, line + "\n")
        return "line added"

    def _place_for_new(self, lines: list[str]) -> int:
        if "BOF" in (self.insertbefore, self.insertafter):
            return 0
        beside = self.insertbefore if self.insertbefore is not None else self.insertafter
        if beside in (None, "EOF"):
            return len(lines)
        pattern = compiled(
            str(beside), "insertbefore" if self.insertbefore is not None else "insertafter"
        )
        matching = [number for number, text in enumerate(lines) if pattern.search(text)]
        if not matching:
            return len(lines)
        chosen = matching[0] if self.firstmatch else matching[-1]
        return chosen if self.insertbefore is not None else chosen + 1
