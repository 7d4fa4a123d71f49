"""host.command: a program run without a shell."""

from __future__ import annotations

from playrunner.modules.host._command import (
    Guarded,
    expanded_argument,
    fed,
    run_and_tell,
    skipped,
    split_words,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Optional

    from playrunner.hostside.host_context import HostContext


class Command(Guarded):
    """A program run without a shell: no pipes, globs or redirections; quotes group words."""

    free_form = "cmd"
    former = ("warn",)
    cmd: str | None = None  # the program and its arguments, in one line
    argv: list[Any] | None = None  # the same as a list, one word each
    stdin: str | None = None  # text the program reads from its standard input
    stdin_add_newline: bool = True  # end that text with a newline
    strip_empty_ends: bool = True  # drop newlines at the end of stdout and stderr
    expand_argument_vars: bool = True  # replace ~ and $NAME in arguments
    executable: str | None = None  # has no effect: no shell is used; see shell

    @classmethod
    def check(cls, arguments: dict[str, Any]) -> Optional[str]:
        given = [name for name in ("cmd", "argv") if arguments.get(name)]
        if len(given) == 2:
            return "parameters are mutually exclusive: cmd|argv; give one of them"
        return (
            None
            if given
            else "one of the following is required: cmd, argv, or the command after the module's"
            " name"
        )

    def guard(self, ctx: HostContext) -> dict[str, Any] | None:
        reason = self.reason_not_to()
        return skipped(self.words(), reason, ctx.check) if reason else None

    def act(self, ctx: HostContext) -> dict[str, Any]:
        if self.executable:
            ctx.warn(
                f"executable ({self.executable}) has no effect: command uses no shell, so it is no"
                " longer supported there; see the module shell"
            )
        arguments = self.words()
        command = (
            [expanded_argument(word) for word in arguments]
            if self.expand_argument_vars
            else arguments
        )
        return run_and_tell(
            ctx,
            command,
            arguments,
            strip=self.strip_empty_ends,
            cwd=self.folder(),
            stdin=fed(self.stdin, self.stdin_add_newline),
        )

    def words(self) -> list[str]:
        if self.argv:
            return [str(word) for word in self.argv]
        return split_words(self.cmd or "")
