"""Processes of the nodes of a site."""

from __future__ import annotations

from pathlib import Path

from tests.support.launch.site import Site


def processes_with(site: Site, word: bytes) -> list[int]:
    """Processes of this site's nodes that have this word in their command line."""
    mark, found = f"PLAYRUNNER_SANDBOX_NODE={site.state}/".encode(), []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            words = (folder / "cmdline").read_bytes().split(b"\0")
            if (
                word in words
                and words[0].rpartition(b"/")[2].startswith(b"python")
                and mark in (folder / "environ").read_bytes()
            ):
                found.append(int(folder.name))
        except OSError:
            continue
    return found
