"""host.replace: every match of a pattern in a file replaced."""

from __future__ import annotations

from playrunner.hostside.module import Failed
from playrunner.modules.host._text import Edited, compiled


class Replace(Edited):
    """Every match of a pattern in a file replaced."""

    regexp: str  # what to replace; ^ and $ match at lines
    replace: str = ""  # what to put there; \\1 and \\g<name> stand for groups
    after: str | None = None  # only what comes after this pattern
    before: str | None = None  # only what comes before this pattern
    encoding: str = "utf-8"  # how the file's text is written

    def text_encoding(self) -> str:
        return self.encoding

    def edited(self, text: str, exists: bool) -> tuple[str, str]:
        import re

        pattern = compiled(self.regexp, "regexp", re.MULTILINE)
        start, end = self._section(text)
        if start < 0:
            return (
                text,
                f"Pattern for before/after params did not match the given file: {self._bounds()}",
            )
        try:
            new, count = pattern.subn(self.replace, text[start:end])
        except re.error as error:
            raise Failed(
                f"Unable to process replace due to error: {error}: {self.replace}"
            ) from None
        if not count or new == text[start:end]:
            return text, ""
        return text[:start] + new + text[end:], f"{count} replacements made"

    def _section(self, text: str) -> tuple[int, int]:
        """Where the part between `after` and `before` begins and ends; -1 when there is none."""
        import re

        if self.after is None and self.before is None:
            return 0, len(text)
        match = compiled(self._bounds(), "after/before", re.DOTALL).search(text)
        return match.span("subsection") if match else (-1, -1)

    def _bounds(self) -> str:
        if self.after is None:
            return f"(?P<subsection>.*){self.before}"
        if self.before is None:
            return f"{self.after}(?P<subsection>.*)"
        return f"{self.after}(?P<subsection>.*?){self.before}"
