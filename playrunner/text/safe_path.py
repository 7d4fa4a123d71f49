"""Paths on this machine that are made from names which came from elsewhere: they stay inside their
folder."""

from __future__ import annotations

import hashlib
import os
import posixpath
from pathlib import Path
from urllib.parse import quote

MOST_NAME_BYTES = 200  # file systems take 255; endings and scratch names are added


class Outside(Exception):
    """A path would lead out of the folder it belongs in."""


def file_name(text: str) -> str:
    """Any text as the name of one file: two texts never share a name, and no name is hidden or
    leads elsewhere."""
    if (
        text.isascii() and text.replace("-", "").replace("_", "").isalnum()
    ):  # the most usual, quickly
        name = text
    else:
        name = "".join(
            letter
            if letter.isprintable() and letter not in "/%\\"
            else quote(letter, safe="", errors="replace")
            for letter in text
        )
        name = f"%2E{name[1:]}" if name.startswith(".") else name
    if not name:
        return "%"
    if len(name.encode()) > MOST_NAME_BYTES:
        digest = hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()[:16]
        name = f"{name.encode()[: MOST_NAME_BYTES - 20].decode(errors='ignore')}%{digest}"
    return name


def inside(folder: Path, relative: str) -> Path:
    """The path below the folder: `..` cannot climb over it, and a link in it that leads out is
    refused."""
    below = posixpath.normpath("/" + relative.replace("\0", "%00")).lstrip("/")
    if not below:
        raise Outside(f"{relative!r} names no file")
    top = Path(os.path.realpath(folder))
    parent = Path(os.path.realpath(top / posixpath.dirname(below)))
    if not parent.is_relative_to(top):
        raise Outside(f"{folder / below} leads out of {folder} through a link")
    return parent / posixpath.basename(below)
