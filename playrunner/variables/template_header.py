"""The first line of a template file that gives settings of jinja2 to this file alone."""

from __future__ import annotations

from typing import Any

from playrunner.errors import TemplateFailed

HEADER = "#jinja2:"


def header_settings(header: str, name: str) -> dict[str, Any]:
    """The settings of a first line such as `#jinja2: trim_blocks:False, lstrip_blocks:True`."""
    import ast

    settings = {}
    for pair in header.removeprefix(HEADER).split(","):
        key, _, value = pair.partition(":")
        try:
            settings[key.strip()] = ast.literal_eval(value.strip())
        except (ValueError, SyntaxError):
            raise TemplateFailed(
                f"{name}:1: cannot read `{pair.strip()}`; write `{HEADER} trim_blocks:False`"
            ) from None
    return settings
