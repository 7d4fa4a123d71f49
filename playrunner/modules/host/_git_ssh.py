"""The ssh command that git reaches a repository with."""

from __future__ import annotations

from playrunner.modules.host._paths import expanded

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Optional


def ssh_command(
    key_file: Optional[str], accept_any: bool, accept_new: bool, options: Optional[str]
) -> str:
    """ssh with the key to log in with, what is accepted of the server, and further options."""
    from shlex import quote

    words = ["ssh", "-o", "BatchMode=yes"]
    if key_file:
        words += ["-i", quote(expanded(key_file)), "-o", "IdentitiesOnly=yes"]
    words += ["-o", "StrictHostKeyChecking=no"] if accept_any else []
    words += ["-o", "StrictHostKeyChecking=accept-new"] if accept_new else []
    return " ".join([*words, options or ""]).strip()
