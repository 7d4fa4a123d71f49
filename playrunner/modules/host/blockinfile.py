"""host.blockinfile: a block of lines in a file, between two marker lines."""

from __future__ import annotations

from playrunner.hostside.module import Failed
from playrunner.modules.host._text import Edited, bare, compiled, lines_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Literal, Optional


class Blockinfile(Edited):
    """A block of lines in a file, between two marker lines."""

    aliases = {**Edited.aliases, "content": "block"}

    block: str = ""  # the lines; none removes the block
    state: Literal["present", "absent"] = "present"  # whether the block should be there
    marker: str = "# {mark} ANSIBLE MANAGED BLOCK"  # the lines around the block
    marker_begin: str = "BEGIN"  # stands for {mark} in the first marker line
    marker_end: str = "END"  # stands for {mark} in the last marker line
    # Put a new block after the last line that matches; EOF is the end
    insertafter: str | None = None
    # Put a new block before the last line that matches; BOF is the beginning
    insertbefore: str | None = None
    create: bool = False  # make the file when it is not there
    append_newline: bool = False  # an empty line after the block
    prepend_newline: bool = False  # an empty line before the block

    @classmethod
    def check(cls, arguments: dict[str, Any]) -> Optional[str]:
        if arguments.get("insertbefore") and arguments.get("insertafter"):
            return "parameters are mutually exclusive: insertbefore|insertafter"
        return None

    def message_when_missing(self) -> Optional[str]:
        return f"File {self.path} not present" if self.create and self.state == "absent" else None

    def edited(self, text: str, exists: bool) -> tuple[str, str]:
        problem = self.check(self.__dict__)
        if problem:
            raise Failed(problem)
        lines = lines_of(text)
        begin = self.marker.replace("{mark}", self.marker_begin)
        end = self.marker.replace("{mark}", self.marker_end)
        present = self.state == "present" and bool(self.block)
        index, had_block = self._remove_block(lines, begin, end)
        if not present:
            new = "".join(lines)
            removed = "Block removed" if new != text else ""
            return new, removed if exists else "File created"
        if not had_block:
            index = self._index_for_new(lines)
        if index > 0 and not lines[index - 1].endswith("\n"):
            lines[index - 1] += "\n"
        body = self.block if self.block.endswith("\n") else self.block + "\n"
        blank_above = self.prepend_newline and index > 0 and bool(bare(lines[index - 1]))
        blank_below = self.append_newline and index < len(lines) and bool(bare(lines[index]))
        lines[index:index] = (
            ["\n"] * blank_above + [begin + "\n", body, end + "\n"] + ["\n"] * blank_below
        )
        new = "".join(lines)
        if new == text:
            return text, ""
        return new, "Block inserted" if exists else "File created"

    def _remove_block(self, lines: list[str], begin: str, end: str) -> tuple[int, bool]:
        """Remove the present block; its index, and whether there was one."""
        begins = [number for number, line in enumerate(lines) if line.rstrip("\n") == begin]
        ends = [number for number, line in enumerate(lines) if line.rstrip("\n") == end]
        if not begins or not ends:
            return 0, False
        first, last = sorted((begins[-1], ends[-1]))
        del lines[first : last + 1]
        return first, True

    def _index_for_new(self, lines: list[str]) -> int:
        import re

        beside = self.insertbefore if self.insertbefore is not None else self.insertafter
        if self.insertbefore == "BOF":
            return 0
        if beside in (None, "EOF"):
            return len(lines)
        before = self.insertbefore is not None
        pattern = compiled(str(beside), "insertbefore" if before else "insertafter")
        if pattern.flags & re.MULTILINE:
            text = "".join(lines)
            spots = [match.start() if before else match.end() for match in pattern.finditer(text)]
            return text.count("\n", 0, spots[-1]) + (0 if before else 1) if spots else len(lines)
        matching = [number for number, line in enumerate(lines) if pattern.search(line)]
        if not matching:
            return len(lines)
        return matching[-1] if before else matching[-1] + 1
