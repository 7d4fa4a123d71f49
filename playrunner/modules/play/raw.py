"""play.raw: a command on a host that may have no Python."""

from __future__ import annotations

import shlex
from typing import Any

from playrunner.hostside.module import Action, Failed
from playrunner.run.context import Context
from playrunner.ssh.frames import read_all
from playrunner.ssh.limits import limits


class Raw(Action):
    """A command on a host that may have no Python; nothing about it is known beforehand."""

    free_form = "cmd"

    cmd: str  # the command line, for the login's shell
    executable: str | None = None  # another shell

    def act(self, ctx: Context) -> dict[str, Any]:
        line = f"{self.executable} -c {shlex.quote(self.cmd)}" if self.executable else self.cmd
        channel, stderr = ctx.start(line)
        most = limits().output_bytes
        out, left_out = read_all(channel, most)
        if left_out:
            ctx.warnings.append(
                f"the command wrote {left_out} bytes more than the {most} that are kept;"
                " write to a file, or set PLAYRUNNER_OUTPUT_MB"
            )
        status, errors = channel.status(), stderr()
        channel.close()
        text = out.decode(errors="replace")
        values = {
            "rc": status,
            "stdout": text,
            "stdout_lines": text.splitlines(),
            "stderr": errors,
            "stderr_lines": errors.splitlines(),
        }
        if status:
            raise Failed("non-zero return code", changed=True, **values)
        return values
