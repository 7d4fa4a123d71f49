"""host.shell: a line, or several, for a shell."""

from __future__ import annotations

from playrunner.modules.host._command import Guarded, fed, run_and_tell, skipped

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from playrunner.hostside.host_context import HostContext


class Shell(Guarded):
    """A line, or several, for a shell: pipes, globs, redirections and variables work."""

    free_form = "cmd"
    former = ("warn",)
    cmd: str  # what the shell reads
    executable: str | None = None  # the shell, as an absolute path; /bin/sh when not given
    stdin: str | None = None  # text it reads from its standard input
    stdin_add_newline: bool = True  # end that text with a newline

    def guard(self, ctx: HostContext) -> dict[str, Any] | None:
        reason = self.reason_not_to()
        return skipped(self.cmd, reason, ctx.check) if reason else None

    def act(self, ctx: HostContext) -> dict[str, Any]:
        return run_and_tell(
            ctx,
            self.cmd,
            self.cmd,
            shell=self.executable,
            cwd=self.folder(),
            stdin=fed(self.stdin, self.stdin_add_newline),
        )
