"""host.script: a script of the controller, run on the host and then removed."""

from __future__ import annotations

import os
import time

from playrunner.hostside.module import Failed
from playrunner.modules.host._command import Guarded, run_and_tell

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from playrunner.hostside.host_context import HostContext


class Script(Guarded):
    """A script of the controller, sent to the host, run there and then removed."""

    free_form = "cmd"
    ships = "cmd"
    cmd: str  # the script's path on the controller, and its arguments
    script: Any = None  # the script itself, put here by the controller
    # What runs it, such as python3; its first line decides when not given
    executable: str | None = None
    # No runs a script that is encrypted with vault as it is; otherwise it is decrypted
    decrypt: bool = True

    def guard(self, ctx: HostContext) -> dict[str, Any] | None:
        reason = self.reason_not_to()
        if reason is None:
            return None
        option = "creates" if reason.endswith(" exists") else "removes"
        return {"skipped": True, "msg": f"{reason}, matching {option} option"}

    def act(self, ctx: HostContext) -> dict[str, Any]:
        from shlex import quote

        folder = self.folder()
        path = _write_script(ctx, self.script)
        try:
            words = [self.executable or "", quote(path), arguments_of(self.cmd)]
            result = run_and_tell(
                ctx, " ".join(word for word in words if word), self.cmd, strip=False, cwd=folder
            )
        finally:
            os.unlink(path)
            ctx.kept(path)
        return {
            key: result[key] for key in ("rc", "stdout", "stdout_lines", "stderr", "stderr_lines")
        }


def arguments_of(command: str) -> str:
    """What follows the script's path, exactly as written: the shell on the host reads it."""
    command = command.strip()
    if command[:1] in ("'", '"'):
        return command[1:].partition(command[0])[2].strip()
    return command.partition(" ")[2].strip()


def _write_script(ctx: HostContext, file_sent: Any) -> str:
    if not isinstance(file_sent, dict) or file_sent.get("folder"):
        raise Failed("the script to run must be a file on the controller")
    # The home comes first: hardened hosts mount /tmp so that nothing in it can be run.
    for folder in (os.path.join(os.path.expanduser("~"), ".playrunner"), "/tmp"):
        path = os.path.join(folder, f"script-{os.getpid()}-{time.monotonic_ns()}")
        try:
            os.makedirs(folder, 0o700, exist_ok=True)
            fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o700)
        except OSError:
            continue
        ctx.scrap(path)
        with os.fdopen(fd, "wb") as file:
            file.write(ctx.blob(file_sent))
        return path
    raise Failed(
        "no folder on the host takes the script: neither ~/.playrunner nor /tmp can be written"
    )
