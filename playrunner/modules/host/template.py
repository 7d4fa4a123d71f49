"""host.template: a file made from a Jinja2 template, which the controller renders."""

from __future__ import annotations

import os

from playrunner.modules.host._delivery import Delivered, entry_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Literal

    from playrunner.hostside.host_context import HostContext
    from playrunner.modules.host._delivery import Entry


class Template(Delivered):
    """A file made from a template."""

    ships = "src"
    renders = True

    src: str  # the template, on the controller
    content: str = ""  # the rendered text, which the controller puts here
    newline_sequence: Literal["\n", "\r", "\r\n", "\\n", "\\r", "\\r\\n"] = "\n"  # what ends a line
    trim_blocks: bool = True  # drop the newline after a block tag
    lstrip_blocks: bool = False  # drop the blanks before a block tag
    block_start_string: str = "{%"  # opens a block tag
    block_end_string: str = "%}"  # closes a block tag
    variable_start_string: str = "{{"  # opens a value
    variable_end_string: str = "}}"  # closes a value
    comment_start_string: str = "{#"  # opens a comment
    comment_end_string: str = "#}"  # closes a comment
    output_encoding: Literal["utf-8"] = "utf-8"  # how the file is written

    def entry(self, ctx: HostContext) -> Entry:
        text = self.content
        ending = self.newline_sequence.replace("\\r", "\r").replace("\\n", "\n")
        if ending != "\n":
            text = text.replace("\r\n", "\n").replace("\n", ending)
        return entry_of(os.path.basename(self.src), text.encode("utf-8", "surrogateescape"))
