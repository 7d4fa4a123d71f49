"""A host's log in a run folder: a block for each result, with output and diff."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import field
from pathlib import Path

from playrunner.frozen import mutable
from playrunner.record.ledger import DIFF, OUTPUT
from playrunner.text.safe_path import file_name

MOST_CHARACTERS = 200_000  # of one step's output that a page shows
_HEADING = re.compile(r"^\[\d\d:\d\d:\d\d\] (.*)$")


@mutable
class Block:
    title: str  # "changed: the step's name"
    _output: list[str] = field(default_factory=list)
    _diff: list[str] = field(default_factory=list)

    @property
    def output(self) -> str:
        return _cut("\n".join(self._output))

    @property
    def diff(self) -> str:
        return _cut("\n".join(self._diff))

    def add(self, line: str) -> None:
        if line.startswith(DIFF):
            self._diff.append(line[len(DIFF) :])
        elif line.startswith(OUTPUT):
            self._output.append(line[len(OUTPUT) :])


def blocks(folder: Path, host: str) -> Iterator[Block]:
    """In the order in which they were written."""
    try:
        file = (folder / "hosts" / f"{file_name(host)}.log").open(
            encoding="utf-8", errors="replace", newline="\n"
        )
    except OSError:
        return
    block: Block | None = None
    with file:
        for line in file:
            text = line.rstrip("\n")
            heading = _HEADING.match(text)
            if heading:
                if block:
                    yield block
                block = Block(heading[1])
            elif block:
                block.add(text)
    if block:
        yield block


def _cut(text: str) -> str:
    if len(text) <= MOST_CHARACTERS:
        return text
    left_out = len(text) - MOST_CHARACTERS
    return f"{text[:MOST_CHARACTERS]}\n... {left_out} more characters; the host's log has them"
