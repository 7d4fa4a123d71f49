"""The table of file systems: one line for each place, the others stay as they are."""

from __future__ import annotations

from playrunner.modules.host._lines import read_lines, write_lines

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Optional

    from playrunner.hostside.host_context import HostContext

ESCAPES = {" ": r"\040", "\t": r"\011", "#": r"\043"}


def entry(table: str, path: str) -> Any:
    """The fields of the line for this place, or None."""
    return next(
        (fields for fields in map(fields_of, read_lines(table)) if fields and fields[1] == path),
        None,
    )


def put(ctx: HostContext, table: str, path: str, wanted: Optional[list[str]]) -> None:
    """Replace, add or remove the line for this mount point."""
    result: list[str] = []
    placed = wanted is None
    for line in read_lines(table):
        fields = fields_of(line)
        if not fields or fields[1] != path:
            result.append(line)
        elif not placed and wanted is not None:
            result.append(" ".join(wanted))
            placed = True
    if not placed and wanted is not None:
        result.append(" ".join(wanted))
    write_lines(ctx, table, result)


def fields_of(line: str) -> list[str]:
    fields = [] if line.strip().startswith("#") else line.split()
    return [*fields, *["0"] * (6 - len(fields))] if len(fields) >= 4 else []


def is_mounted(path: str) -> bool:
    try:
        with open("/proc/self/mounts") as file:
            return any(plain(line.split()[1]) == path for line in file)
    except OSError:
        import os

        return os.path.ismount(path)


def escaped(text: str) -> str:
    return "".join(ESCAPES.get(sign, sign) for sign in text)


def plain(text: str) -> str:
    for sign, escape in ESCAPES.items():
        text = text.replace(escape, sign)
    return text
