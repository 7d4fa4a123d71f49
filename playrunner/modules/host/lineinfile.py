"""host.lineinfile: a line that is in a file, or is not."""

from __future__ import annotations

from playrunner.hostside.module import Failed
from playrunner.modules.host._text import Edited, bare, compiled, lines_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Literal, Optional

    from playrunner.hostside.host_context import HostContext
    from playrunner.hostside.state import Change, State


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

    @classmethod
    def check(cls, arguments: dict[str, Any]) -> Optional[str]:
        for first, second in (
            ("insertbefore", "insertafter"),
            ("regexp", "search_string"),
            ("backrefs", "search_string"),
        ):
            if arguments.get(first) and arguments.get(second):
                return f"parameters are mutually exclusive: {first}|{second}"
        if arguments.get("state") == "absent":
            if all(arguments.get(name) is None for name in ("line", "regexp", "search_string")):
                return "one of line, search_string, or regexp is required with state=absent"
        elif arguments.get("line") is None:
            return "line is required with state=present"
        elif arguments.get("backrefs") and arguments.get("regexp") is None:
            return "regexp is required with backrefs=true"
        return None

    def message_when_missing(self) -> Optional[str]:
        return "file not present" if self.state == "absent" else None

    def observe(self, ctx: HostContext) -> Optional[State]:
        for argument, called in (
            ("regexp", "regular expression"),
            ("search_string", "search string"),
        ):
            if getattr(self, argument) == "":
                ctx.warn(
                    f"The {called} is an empty string, which will match every line in the file."
                    " This may have unintended consequences, such as replacing the last line in"
                    " the file rather than appending."
                    + (
                        " If this is desired, use '^' to match every line in the file and avoid"
                        " this warning."
                        if argument == "regexp"
                        else ""
                    )
                )
        return super().observe(ctx)

    def edited(self, text: str, exists: bool) -> tuple[str, str]:
        problem = self.check(self.__dict__)
        if problem:
            raise Failed(problem)
        lines = lines_of(text)
        if self.state == "absent":
            kept = self._without(lines)
            removed = len(lines) - len(kept)
            return "".join(kept), f"{removed} line(s) removed" if removed else ""
        message = self._with(lines, self.line or "")
        return "".join(lines), message

    def returns(self, ctx: HostContext, change: Change) -> dict[str, Any]:
        edit = ctx.memory.get("edit")
        values = {
            "msg": edit.message if edit else "",
            "backup": ctx.memory.get("backup_file", ""),
        }
        if edit and self.state == "absent" and "data" in ctx.memory:
            values["found"] = len(lines_of(edit.old)) - len(lines_of(edit.new))
        return values

    def _without(self, lines: list[str]) -> list[str]:
        if self.regexp is not None:
            pattern = compiled(self.regexp, "regexp")
            return [line for line in lines if not pattern.search(line)]
        if self.search_string is not None:
            return [line for line in lines if self.search_string not in line]
        return [line for line in lines if bare(line) != self.line]

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
        chosen: tuple[Optional[int], Any] = (None, None)
        if pattern is None and self.search_string is None:
            return chosen
        for number, text in enumerate(lines):
            match = (
                pattern.search(text)
                if pattern
                else self.search_string is not None and self.search_string in text
            )
            if match:
                chosen = (number, match)
                if self.firstmatch:
                    break
        return chosen

    def _insert(self, lines: list[str], line: str) -> str:
        index = self._index_for_new(lines)
        if index > 0 and not lines[index - 1].endswith("\n"):
            lines[index - 1] += "\n"
        lines.insert(index, line + "\n")
        return "line added"

    def _index_for_new(self, lines: list[str]) -> int:
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
