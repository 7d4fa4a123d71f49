"""host.find: files below some folders, chosen by name, age, size, kind and content."""

from __future__ import annotations

import os
import stat
import time

from playrunner.hostside.module import Failed, Probe
from playrunner.modules.host._content import chunks_of
from playrunner.modules.host._paths import expanded
from playrunner.modules.host._text import compiled
from playrunner.modules.host.stat import described, digest_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any, Literal

    from playrunner.hostside.host_context import HostContext

_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}
_BYTES = {"b": 1, "k": 1024, "m": 1024**2, "g": 1024**3, "t": 1024**4}


class Find(Probe):
    """Files below some folders, chosen by name, age, size, kind and content."""

    aliases = {
        "path": "paths",
        "name": "paths",
        "pattern": "patterns",
        "exclude": "excludes",
        "checksum": "checksum_algorithm",
        "checksum_algo": "checksum_algorithm",
    }

    paths: list[str]  # the folders to look in
    patterns: list[
        str
    ] = []  # names to choose: shell patterns, or regular expressions with use_regex
    excludes: list[str] | None = None  # names to leave out
    contains: str | None = None  # a regular expression that a line of the file matches
    read_whole_file: bool = False  # match `contains` against the whole file, not line by line
    file_type: Literal["any", "directory", "file", "link"] = "file"  # what to choose
    recurse: bool = False  # look in folders below
    depth: int | None = None  # how many folders deep
    age: str | None = None  # older than this (2d, 1w), or younger with a minus
    age_stamp: Literal["atime", "ctime", "mtime"] = "mtime"  # the time that age is about
    size: str | None = None  # larger than this (10k, 1g), or smaller with a minus
    hidden: bool = False  # also names that begin with a dot
    follow: bool = False  # go through links to folders
    use_regex: bool = False  # patterns are regular expressions
    get_checksum: bool = False  # also hash each file's content
    checksum_algorithm: str = "sha1"  # sha1, sha256, md5, ...
    limit: int | None = None  # stop after so many
    mode: Any = None  # permissions to choose by
    exact_mode: bool = True  # exactly this mode, not at least it
    encoding: str | None = None  # how files that `contains` looks into are written; UTF-8 usually

    def look(self, ctx: HostContext) -> dict[str, Any]:
        search = _Search(self)
        files: list[dict[str, Any]] = []
        for folder in self.paths:
            folder = expanded(folder)
            if not os.path.isdir(folder):
                problem = search.skipped[folder] = f"'{folder}' is not a directory"
                ctx.warn(f"Skipped '{folder}' path due to this access issue: {problem}")
                continue
            search.top = folder
            for path in search.walk(folder, 1):
                shown = search.chosen(path)
                if shown:
                    files.append(shown)
                if self.limit and len(files) >= self.limit:
                    break
        message = (
            "Not all paths examined, check warnings for details"
            if search.skipped
            else "All paths examined"
        )
        if self.limit and len(files) >= self.limit:
            message = "Limit of matches reached"
        return {
            "files": files,
            "matched": len(files),
            "examined": search.examined,
            "skipped_paths": search.skipped,
            "msg": message,
        }


class _Search:
    """One search: what it chooses by, and what it has seen so far."""

    def __init__(self, find: Find) -> None:
        self.find, self.now = find, time.time()
        self.older = _signed(find.age, _SECONDS, "age")
        self.larger = _signed(find.size, _BYTES, "size")
        self.patterns = [_matcher(pattern, find.use_regex) for pattern in find.patterns]
        self.excludes = [_matcher(pattern, find.use_regex) for pattern in find.excludes or ()]
        self.examined = 0
        self.top = ""  # the folder of `paths` that is searched now
        self.skipped = dict[str, str]()

    def walk(self, folder: str, depth: int) -> Iterator[str]:
        try:
            names = os.listdir(folder)
        except OSError as error:
            self.skipped[folder] = str(error.strerror)
            return
        self.examined += len(names)
        if self.find.depth and depth > self.find.depth:
            return
        paths = [os.path.join(folder, name) for name in names]
        folders = [path for path in paths if os.path.isdir(path)]
        yield from (
            path for path in paths if self.find.hidden or not os.path.basename(path).startswith(".")
        )
        if self.find.recurse:
            for path in folders:
                if self.find.follow or not os.path.islink(path):
                    yield from self.walk(path, depth + 1)

    def chosen(self, path: str) -> dict[str, Any] | None:
        name = os.path.basename(path)
        if self.patterns and not any(match(name) for match in self.patterns):
            return None
        if any(match(name) for match in self.excludes):
            return None
        try:
            info = os.lstat(path)
        except OSError as error:
            self.skipped[path] = str(error.strerror)
            return None
        kinds = {"file": stat.S_ISREG, "directory": stat.S_ISDIR, "link": stat.S_ISLNK}
        if self.find.file_type != "any" and not kinds[self.find.file_type](info.st_mode):
            return None
        regular = stat.S_ISREG(info.st_mode)
        if not self._right_age(info) or not self._right_mode(info):
            return None
        if (
            self.find.file_type in ("file", "any")
            and regular
            and not (self._right_size(info) and self._has_text(path))
        ):
            return None
        shown = {"path": path, **described(info)}
        for key in ("blocks", "block_size", "device_type"):
            del shown[key]
        if self.find.get_checksum and regular:
            shown["checksum"] = digest_of(chunks_of(path), self.find.checksum_algorithm)
        return shown

    def _right_age(self, info: os.stat_result) -> bool:
        if self.older is None:
            return True
        age = self.now - float(getattr(info, f"st_{self.find.age_stamp}"))
        return age >= abs(self.older) if self.older >= 0 else age <= abs(self.older)

    def _right_size(self, info: os.stat_result) -> bool:
        if self.larger is None:
            return True
        return (
            info.st_size >= abs(self.larger)
            if self.larger >= 0
            else info.st_size <= abs(self.larger)
        )

    def _right_mode(self, info: os.stat_result) -> bool:
        if self.find.mode is None:
            return True
        from playrunner.modules.host._modes import mode_bits

        wanted, bits = mode_bits(self.find.mode, 0, False), stat.S_IMODE(info.st_mode)
        return bits == wanted if self.find.exact_mode else bits & wanted == wanted

    def _has_text(self, path: str) -> bool:
        if self.find.contains is None:
            return True
        pattern = compiled(self.find.contains, "contains")
        encoding = self.find.encoding
        errors = "strict" if encoding else "surrogateescape"
        try:
            with open(path, encoding=encoding or "utf-8", errors=errors) as file:
                if self.find.read_whole_file:
                    return bool(pattern.search(file.read()))
                return any(pattern.match(line) for line in file)
        except LookupError:
            self.skipped[self.top] = f"unknown encoding: {encoding}"
            return False
        except UnicodeDecodeError:
            self.skipped[self.top] = (
                f"Failed to read the file {path} due to an encoding error."
                f" current encoding: {encoding}"
            )
            return False
        except OSError as error:
            self.skipped[path] = str(error.strerror)
            return False


def _matcher(pattern: str, is_regex: bool) -> Any:
    if is_regex:
        return compiled(pattern, "patterns").match
    import fnmatch

    return lambda name: fnmatch.fnmatch(name, pattern)


def _signed(text: str | None, units: dict[str, int], argument: str) -> int | None:
    """A number with a unit, such as 2d or -10k, in seconds or bytes."""
    if text is None:
        return None
    number, unit = str(text).strip().lower(), "b" if "b" in units else "s"
    if number and number[-1] in units:
        number, unit = number[:-1], number[-1]
    try:
        return int(number) * units[unit]
    except ValueError:
        raise Failed(
            f"failed to process {argument}: {text}; write a number and one of {', '.join(units)}"
        ) from None
