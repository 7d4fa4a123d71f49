"""A version of a git repository, packed into an archive."""

from __future__ import annotations

import os

from playrunner.hostside.module import Failed
from playrunner.modules.host._archive import members_of
from playrunner.modules.host._content import refuse, sha1_of
from playrunner.modules.host._drafts import Draft
from playrunner.modules.host._modes import default_bits
from playrunner.modules.host._paths import expanded

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Optional

    from playrunner.hostside.host_context import HostContext

# How the name ends -> what git calls it
FORMATS = {".zip": "zip", ".tar": "tar", ".tar.gz": "tar.gz", ".tgz": "tgz", ".gz": "tgz"}


def pack(
    ctx: HostContext, git: list[str], archive: str, version: str, prefix: Optional[str]
) -> bool:
    """Write the archive; whether its content differs from what was there."""
    path = expanded(archive)
    kind = next((name for end, name in FORMATS.items() if path.endswith(end)), None)
    if kind is None:
        raise Failed(
            f"Unable to get file extension from archive file name : {path}; end it in"
            f" {', '.join(FORMATS)}"
        )
    try:
        draft = Draft(ctx, os.path.dirname(path))
    except OSError as error:
        refuse(error, path)
    words = [*git, "archive", f"--format={kind}", f"--output={draft.path}"]
    words += [f"--prefix={prefix.rstrip('/')}/"] if prefix else []
    try:
        os.fchmod(draft.fd, default_bits("file"))
        os.close(draft.fd)
        ran = ctx.run([*words, version])
        if ran.rc:
            raise Failed(
                f"Failed to perform archive operation: {ran.err.strip()}",
                rc=ran.rc,
                stderr=ran.err,
            )
        changed = not os.path.exists(path) or _content(path) != _content(draft.path)
        if changed:
            os.replace(draft.path, path)
        return changed
    except OSError as error:
        refuse(error, path)
    finally:
        draft.end()


def _content(path: str) -> dict[str, Any]:
    """Names and hashes: an archive of the same files may differ in its times."""
    return {
        member.name: sha1_of(member.chunks()) if member.kind == "file" else member.kind
        for member in members_of(path)[1]
    }
