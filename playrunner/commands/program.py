"""The command line: `playrunner` from any folder, and what `invoke` in a checkout has in common
with it."""

from __future__ import annotations

import gc
import os
import re
import sys
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from invoke.collection import Collection
from invoke.exceptions import Exit, ParseError
from invoke.parser.argument import Argument
from invoke.parser.parser import ParseResult
from invoke.program import Program

from playrunner.commands.ending import end_process
from playrunner.commands.flags import print_error
from playrunner.commands.namespace import namespace
from playrunner.errors import BadInput
from playrunner.project import program as program_name
from playrunner.project import version
from playrunner.text.did_you_mean import did_you_mean, nearest
from playrunner.text.streams import code_after_output, guard_streams

_HELP = ("--help", "-h")


class PlayrunnerProgram(Program):
    """Invoke with the verbs of this project, found without a tasks.py."""

    def parse_core(self, argv: list[str] | None) -> None:
        _check_process()
        try:
            super().parse_core(argv)
        except Exit as ending:  # --version, --print-completion-script
            raise Exit(ending.message, code_after_output(ending.code)) from None

    def parse_collection(self) -> None:
        # Invoke turns bytecode off while it parses its own flags.
        sys.dont_write_bytecode = sys.flags.dont_write_bytecode == 1
        self.namespace = verbs(self.argv[1:])
        super().parse_collection()

    def print_version(self) -> None:
        print(f"{self.name} {version()}")


def main() -> None:
    """Run the command line; ends the process with its exit code."""
    gc.disable()  # nothing is worth collecting while the program loads; a run turns it on again
    PlayrunnerProgram(
        name="playrunner",
        binary="playrunner",
        binary_names=["playrunner"],
        namespace=Collection(),  # replaced once the command line is known
    ).run()


def verbs(words: Sequence[str]) -> Collection:
    """The verbs that a command line is about; Invoke's own errors and pages end as verbs do."""
    _check_process()
    _extend_invoke()
    return namespace(words)


def _check_process() -> None:
    """The standard streams and the working folder, which every verb needs."""
    problem = guard_streams()
    try:
        os.getcwd()
    except OSError as error:
        problem = problem or (
            f"the working folder cannot be used: {error.strerror}; change to one that exists"
        )
    if problem:
        raise Exit(f"error: {problem}", BadInput.exit_code)


def _print_values(program: Program) -> None:
    """End here where the shell's completion asks for a flag's value; Invoke knows none."""
    from playrunner.commands.completion import value_candidates

    names, parser = program.binary_names, program._make_parser()
    values = value_candidates(program.core.remainder, names, parser)
    if values is not None:
        sys.stdout.write("".join(f"{value}\n" for value in values))
        raise Exit


def _extend_invoke() -> None:
    """Unknown flags and verbs end with the exit code of bad input, not with Invoke's own 1.

    Its own pages (--help VERB, --list) end as a verb does: a reader that left early is no error, a
    full disk is one. `play --help` shows help, though `--help` stands where a playbook would.
    """
    parse, clean_up, execute = Program.parse_tasks, Program.parse_cleanup, Program.execute

    def parse_tasks(program: Program) -> None:
        if program.args.list.value and not program.core.unparsed:
            program.tasks = ParseResult()  # no verb is named; parsing would build all flags
            return
        try:
            parse(program)
        except ParseError as error:
            problem = BadInput(_explained(error))
            if "--json" in sys.argv:
                print_error(problem, problem.exit_code)
            raise Exit(f"error: {problem}", code_after_output(problem.exit_code)) from None
        for context in program.tasks:
            if any(argument.value in _HELP for argument in context.args.values()):
                program.print_task_help(context.name or "")
                raise Exit(code=code_after_output(0))

    def parse_cleanup(program: Program) -> None:
        try:
            if program.args.complete.value:
                _print_values(program)
            clean_up(program)
        except Exit as ending:
            _end(Exit(ending.message, code_after_output(ending.code)))

    def execute_and_end(program: Program) -> None:
        try:
            execute(program)
        except Exit as ending:
            _end(ending)
        end_process(0)

    Argument.set_value = _checked(Argument.set_value)  # type: ignore[method-assign]
    Program.parse_tasks = parse_tasks  # type: ignore[method-assign, assignment]
    Program.execute = execute_and_end  # type: ignore[method-assign, assignment]
    Program.parse_cleanup = parse_cleanup  # type: ignore[method-assign, assignment]


def _checked(set_value: Callable[[Argument, Any, bool], None]) -> Callable[..., None]:
    """The same, with a value that is no number as the error of a bad flag."""

    def set_checked(argument: Argument, value: Any, cast: bool = True) -> None:
        try:
            set_value(argument, value, cast)
        except ValueError:
            kind = "a whole number" if argument.kind is int else "a number"
            flag = str(argument.name).replace("_", "-")
            raise ParseError(f'--{flag} "{value}": it is {kind}') from None

    return set_checked


def _end(ending: Exit) -> NoReturn:
    if ending.message:
        raise ending from None  # Invoke prints it
    end_process(ending.code)


def _explained(error: ParseError) -> str:
    """Invoke's words, or for a verb that does not exist the one that was meant."""
    see = f"see: {program_name()} --help VERB"
    unknown = re.fullmatch(r"No idea what '(.*)' is!", str(error), re.DOTALL)
    if unknown is None:
        return f"{error}; {see}"
    word = unknown[1]
    if word.startswith("-"):
        flags = error.context.flags if error.context else ()
        close = nearest(word.strip("-"), [flag.strip("-") for flag in flags])
        return f'there is no flag "{word}" here; ' + (
            f'did you mean "--{close}"?' if close else see
        )
    every = namespace(()).task_names
    return f'there is no verb "{word}"{did_you_mean(word, every, see)}'
