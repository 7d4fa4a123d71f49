"""The program tar, for options of it that only tar itself knows."""

from __future__ import annotations

import os
from contextlib import contextmanager

from playrunner.hostside.module import Failed
from playrunner.modules.host._drafts import Draft
from playrunner.modules.host._packages import needed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any, Optional

    from playrunner.hostside.host_context import HostContext

_PLAIN = {"LC_ALL": "C.UTF-8"}
# Differences that tar sees although nothing is to be done: times of folders, say.
_UNIMPORTANT = ("Mod time differs",)


def is_known(option: str) -> bool:
    """Whether an option is understood here, without tar."""
    name, _, number = option.partition("=")
    return name == "--strip-components" and number.isdigit()


class TarProgram:
    """An archive, and the options that tar is given for it."""

    def __init__(self, archive: str, folder: str, options: list[str]) -> None:
        self.archive, self.folder, self.options = archive, folder, options

    def differs(self, ctx: HostContext) -> bool:
        ran = self._tar(ctx, "--diff")
        problems = [line for line in (ran.out + ran.err).splitlines() if line.strip()]
        if ran.rc > 1 and any(
            "unrecognized option" in line or "invalid" in line for line in problems
        ):
            raise Failed(f"Unexpected error when accessing exploded file: {ran.err.strip()}")
        return bool(ran.rc) and any(not line.endswith(_UNIMPORTANT) for line in problems)

    def names(self, ctx: HostContext) -> list[str]:
        ran = self._tar(ctx, "--list", "--show-transformed-names")
        return [line.rstrip("/") for line in ran.out.splitlines() if line]

    def unpack(self, ctx: HostContext) -> None:
        ran = self._tar(ctx, "--extract")
        if ran.rc:
            raise Failed(
                f"failed to unpack {self.archive} to {self.folder}",
                err=ran.err,
                out=ran.out,
                rc=ran.rc,
            )

    def _tar(self, ctx: HostContext, *verbs: str) -> Any:
        tool = needed("tar", "install the package tar, or leave out extra_opts")
        where = ["-C", self.folder, *self.options, "-f", self.archive]
        return ctx.run([tool, *verbs, *where], env=_PLAIN)


@contextmanager
def as_file(ctx: HostContext, path: Optional[str], data: bytes) -> Iterator[str]:
    """An archive as a file on the host: where it is, or a temporary copy of what was sent."""
    if path is not None:
        yield path
        return
    from tempfile import gettempdir

    draft = Draft(ctx, gettempdir())
    try:
        with os.fdopen(draft.fd, "wb") as file:
            file.write(data)
        yield draft.path
    finally:
        draft.end()
