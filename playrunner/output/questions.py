"""Questions to the person at the terminal, while no status line is drawn over them."""

from __future__ import annotations

import sys

from playrunner.errors import BadInput
from playrunner.output.terminal import Terminal
from playrunner.text.streams import visible


def ask(terminal: Terminal, question: str, echo: bool) -> str:
    """The answer; an error where there is no terminal."""
    if not sys.stdin.isatty():
        raise BadInput(
            f'"{question}" needs an answer and there is no terminal; set it with --extra-vars'
        )
    with terminal.without_live():
        if echo:
            return input(f"{visible(question)}: ")
        import getpass

        return getpass.getpass(f"{visible(question)}: ")


def pause(
    terminal: Terminal, text: str, echo: bool = True, seconds: float | None = None
) -> str | None:
    """What was typed until Enter, or nothing after the seconds; None where no one can type."""
    from playrunner.output.key_input import is_interactive, read_answer

    def show() -> None:
        for line in text.splitlines():
            terminal.line(line)

    if not is_interactive():
        show()
        return None
    with terminal.without_live():
        return read_answer(show, echo, seconds)
