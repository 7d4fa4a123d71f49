"""Filters on text: quoting, splitting, commenting, URLs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

# beginning, decoration of each line, end
_COMMENT_STYLES = {
    "plain": ("", "# ", ""),
    "erlang": ("", "% ", ""),
    "c": ("", "// ", ""),
    "cblock": ("/*", " * ", " */"),
    "xml": ("<!--", " - ", "-->"),
}
_URL_PARTS = (
    "fragment",
    "hostname",
    "netloc",
    "password",
    "path",
    "port",
    "query",
    "scheme",
    "username",
)


def quote(value: Any) -> str:
    """The text as one word of a shell command."""
    import shlex

    return shlex.quote("" if value is None else str(value))


def split(value: str, separator: str | None = None, maxsplit: int = -1) -> list[str]:
    return value.split(separator, maxsplit)


def comment(
    text: str,
    style: str = "plain",
    *,
    newline: str = "\n",
    beginning: str | None = None,
    prefix: str | None = None,
    prefix_count: int = 1,
    decoration: str | None = None,
    postfix: str | None = None,
    postfix_count: int = 1,
    end: str | None = None,
) -> str:
    """The text as a comment of a configuration or source file."""
    if style not in _COMMENT_STYLES:
        raise ValueError(f"there is no style {style!r}; there are {', '.join(_COMMENT_STYLES)}")
    usual_beginning, usual_decoration, usual_end = _COMMENT_STYLES[style]
    opening = usual_beginning if beginning is None else beginning
    closing = usual_end if end is None else end
    mark = usual_decoration if decoration is None else decoration
    above = mark.rstrip() if prefix is None else prefix
    below = mark.rstrip() if postfix is None else postfix

    *lines, last = text.split(newline)
    body = [mark + line if line else mark.rstrip() for line in lines] + [mark + last]
    around = [opening] if opening else []
    around += [above] * prefix_count if above else []
    return newline.join([*around, *body, *[below] * postfix_count, *([closing] if closing else [])])


def urlsplit(value: str, query: str = "") -> Any:
    """The parts of a URL by name, or one of them."""
    from urllib.parse import urlsplit as split_url

    if query and query not in _URL_PARTS:
        raise ValueError(f"unknown URL component {query!r}; the parts are {', '.join(_URL_PARTS)}")
    found = split_url(value)
    return getattr(found, query) if query else {part: getattr(found, part) for part in _URL_PARTS}


def urldecode(value: str) -> str:
    from urllib.parse import unquote_plus

    return unquote_plus(value)


def type_debug(value: Any) -> str:
    """The name of the value's type, as Ansible users know it."""
    for kind in (bool, str, dict, list):
        if isinstance(value, kind) and type(value).__name__ != "Markup":
            return kind.__name__
    return type(value).__name__


FILTERS: dict[str, Callable[..., Any]] = {
    "quote": quote,
    "split": split,
    "comment": comment,
    "urlsplit": urlsplit,
    "urldecode": urldecode,
    "type_debug": type_debug,
}
