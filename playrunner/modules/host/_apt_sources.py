"""The lists of package sources in /etc/apt, in the format of one source in a line."""

from __future__ import annotations

import os
import re

from playrunner.hostside.module import Failed
from playrunner.modules.host._packages import needed
from playrunner.modules.host._text_files import text_at

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Optional

    from playrunner.hostside.host_context import HostContext

KINDS = ("deb", "deb-src")
PPA = "https://ppa.launchpadcontent.net"


class Line:
    """One line of a list: a source that is on or off (behind a #), or anything else."""

    __slots__ = ("comment", "enabled", "is_source", "text")

    def __init__(self, line: str) -> None:
        line = line.strip()
        self.enabled = not line.startswith("#")
        text, _, comment = (line if self.enabled else line[1:]).partition("#")
        if not text and comment:  # a line of several #
            text, comment = f"#{comment}", ""
        self.text, self.comment = text.strip(), comment.strip()
        words = self.text.split()
        self.is_source = words[:1] != [] and words[0] in KINDS
        if self.is_source:
            self.text = " ".join(words)

    def written(self) -> str:
        sign = "" if self.enabled else "# "
        return f"{sign}{self.text}{f' # {self.comment}' if self.comment else ''}\n"


class Lists:
    """All lists of a host, as apt itself finds them."""

    def __init__(self, ctx: HostContext) -> None:
        tool = needed("apt-config", "apt_repository works on Debian and its children only")
        words = ["LIST", "Dir::Etc::sourcelist/f", "PARTS", "Dir::Etc::sourceparts/d"]
        ran = ctx.run([tool, "shell", *words], env={"LC_ALL": "C"})
        pairs = [line.partition("=") for line in ran.out.splitlines()]
        values = {key: value.strip("'\"") for key, _, value in pairs}
        self.folder = values.get("PARTS", "/etc/apt/sources.list.d").rstrip("/")
        self.main = values.get("LIST", "/etc/apt/sources.list")
        names = sorted(os.listdir(self.folder)) if os.path.isdir(self.folder) else []
        paths = [self.main, *(os.path.join(self.folder, n) for n in names if n.endswith(".list"))]
        self.lines = {path: lines_of(text) for path in paths if (text := text_at(path)) is not None}

    def texts(self) -> dict[str, str]:
        """Every list as it would be written; those without a line are not there."""
        return {
            path: "".join(line.written() for line in lines)
            for path, lines in self.lines.items()
            if lines
        }

    def with_source(self, source: str, file: str) -> dict[str, str]:
        present = False
        for lines in self.lines.values():
            for line in lines:
                if line.is_source and line.text == source:
                    line.enabled = present = True
        if not present:
            path = file if "/" in file else os.path.join(self.folder, file)
            self.lines.setdefault(path, []).append(Line(source))
        return self.texts()

    def without_source(self, source: str) -> dict[str, str]:
        for path, lines in self.lines.items():
            self.lines[path] = [
                line
                for line in lines
                if not (line.is_source and line.enabled and line.text == source)
            ]
        return self.texts()


def lines_of(text: str) -> list[Line]:
    return [Line(line) for line in text.splitlines()]


def source_of(repo: str) -> str:
    """The source as apt writes it; anything else is refused."""
    line = Line(repo)
    if not line.is_source or not line.enabled:
        raise Failed(
            f"Invalid repository string: {repo.strip().lstrip('#')}; write it as apt does, such as"
            " 'deb http://deb.debian.org/debian bookworm main'"
        )
    return line.text


def file_for(source: str, filename: Optional[str]) -> str:
    """The list that a source goes to: named after its address when it has no name of its own."""
    if filename is not None:
        return f"{filename}.list"
    bare = re.sub(r"\w+://", "", re.sub(r"\[[^\]]+\]", "", source))
    words = [word for word in bare.split() if word not in KINDS]
    address = words[0].partition("@")[2] or words[0]
    return "_".join(re.sub("[^a-zA-Z0-9]", " ", address).split()) + ".list"


def ppa_source(repo: str, codename: str) -> tuple[str, str, str]:
    """The source, the owner and the name behind `ppa:owner/name`."""
    owner, _, name = repo.partition(":")[2].partition("/")
    name = name.partition("/")[0] or "ppa"
    return f"deb {PPA}/{owner}/{name}/ubuntu {codename} main", owner, name
