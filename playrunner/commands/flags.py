"""Where Invoke meets the engine: the shared flags, what a verb returns, and exit codes."""

from __future__ import annotations

import inspect
import os
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from invoke.exceptions import Exit, ParseError
from invoke.program import Program
from invoke.tasks import Task, task

from playrunner.errors import BadInput, PlayrunnerError, of_a_full_machine
from playrunner.text.streams import OutputLost, code_after_output, guard_streams
from playrunner.text.streams import as_json as json_text

# Flags of every verb that runs steps: name, default, help. A tuple default may be given several
# times.
RUN_FLAGS: dict[str, tuple[Any, str]] = {
    "inventory": (
        [],
        "inventory file, folder, script, or a name under inventories/; may be repeated",
    ),
    "check": (False, "look only: say what would change, touch nothing"),
    "diff": (False, "show what changes, line by line"),
    "limit": ("", "only these hosts of the inventory (a pattern, or @file)"),
    "tags": ("", "only steps with one of these tags"),
    "skip-tags": ("", "leave out steps with one of these tags"),
    "start-at-task": ("", "begin with the step of this name"),
    "extra-vars": (
        [],
        "variables that win over all others: name=value, JSON, or @file; may be repeated",
    ),
    "kubeconfig": (
        "",
        "the kubeconfig whose current context is meant, instead of what the inventory says",
    ),
    "forks": (32, "how many hosts are worked on at once"),
    "json": (False, "print one JSON object on stdout, and nothing else there"),
    "yes": (False, "do not ask before something is destroyed"),
    "rollback": (False, "when a step fails, take back what this run changed"),
    "verbose": (0, "show each step's values; also sets ansible_verbosity (may be repeated)"),
    "force-handlers": (False, "run notified handlers though a step failed"),
    "exit-code": (False, "with --check: exit with 3 when something would change"),
    "no-wait": (False, "refuse instead of waiting while another run holds the inventory"),
    "ask-become-pass": (False, "ask for the sudo password (or set PLAYRUNNER_BECOME_PASSWORD)"),
}
INVENTORY_FLAGS = {name: RUN_FLAGS[name] for name in ("inventory", "limit", "json")}


def verb(
    *,
    flags: dict[str, tuple[Any, str]] | None = None,
    positional: Iterable[str] = (),
    help: dict[str, str] | None = None,
    name: str | None = None,
) -> Callable[[Callable[..., Any]], Task[Any]]:
    """An Invoke task whose shared flags arrive as one mapping `flags`, and whose result is its exit
    code."""

    def wrap(body: Callable[..., Any]) -> Task[Any]:
        shared = flags if flags is not None else RUN_FLAGS
        own = [
            parameter
            for parameter in list(inspect.signature(body).parameters.values())[1:]
            if parameter.name != "flags"
        ]

        def run(context: Any, *args: Any, **kwargs: Any) -> None:
            bound = dict(zip([parameter.name for parameter in own], args, strict=False))
            values = {**bound, **kwargs}
            if any(value in ("--help", "-h") for value in values.values()):
                _show_help(run.__name__ if name is None else name, made)
            taken = {
                flag.replace("-", "_"): values.pop(flag.replace("-", "_"), default)
                for flag, (default, _) in shared.items()
            }
            _finish(lambda: body(context, flags=taken, **values), bool(taken.get("json")))

        run.__name__ = name or body.__name__
        run.__doc__ = body.__doc__
        extended = [
            inspect.Parameter(
                flag.replace("-", "_"), inspect.Parameter.POSITIONAL_OR_KEYWORD, default=default
            )
            for flag, (default, _) in shared.items()
        ]
        first = inspect.Parameter("context", inspect.Parameter.POSITIONAL_OR_KEYWORD)
        run.__signature__ = inspect.Signature([first, *own, *extended])  # type: ignore[attr-defined]
        made: Task[Any] = task(
            name=name,
            positional=list(positional),
            auto_shortflags=False,
            iterable=[
                flag.replace("-", "_")
                for flag, (default, _) in shared.items()
                if isinstance(default, list)
            ],
            incrementable=[flag for flag in shared if flag == "verbose"],
            help={**{flag: text for flag, (_, text) in shared.items()}, **(help or {})},
        )(run)
        return made

    return wrap


def check_surroundings() -> None:
    """What every verb stands on, looked at before any of them is built: the standard streams and
    the working folder."""
    problem = guard_streams()
    try:
        os.getcwd()
    except OSError as error:
        problem = (
            problem
            or f"the working folder cannot be used: {error.strerror}; go to one that is there"
        )
    if problem:
        raise Exit(f"error: {problem}", BadInput.exit_code)


def extend_invoke() -> None:
    """Flags and verbs that Invoke does not know are bad input, too: our exit code instead of its
    own 1.

    Its own pages (--help VERB, --list) end as a verb does: a reader that left early is no error, a
    full disk is one.
    """
    parse, clean_up = Program.parse_tasks, Program.parse_cleanup

    def parse_tasks(program: Program) -> None:
        try:
            parse(program)
        except ParseError as error:
            if "--json" in sys.argv:
                _print_error(error, BadInput.exit_code)
            raise Exit(
                f"error: {error}; see: invoke --help VERB", code_after_output(BadInput.exit_code)
            ) from None

    def parse_cleanup(program: Program) -> None:
        try:
            clean_up(program)
        except Exit as ending:
            raise Exit(ending.message, code_after_output(ending.code)) from None

    Program.parse_tasks = parse_tasks  # type: ignore[method-assign, assignment]
    Program.parse_cleanup = parse_cleanup  # type: ignore[method-assign, assignment]


def positional_if_given(path: str, name: str) -> list[str]:
    """Invoke knows no optional positional argument; so it is one only when the command line has it."""
    after = sys.argv[sys.argv.index(path) + 1 :] if path in sys.argv else []
    return [name] if after and not after[0].startswith("-") else []


def _show_help(name: str, made: Task[Any]) -> None:
    """`invoke play --help`: a positional argument would swallow the flag, so Invoke is asked the
    other way round."""
    path = next((word for word in sys.argv if word.endswith(name)), name)
    Program().run(["invoke", "--help", path], exit=False)
    raise Exit(code=code_after_output(0))


def _finish(body: Callable[[], Any], as_json: bool) -> None:
    """Run a verb; its result is the exit code, and what it says on purpose is one line, never a
    traceback."""
    try:
        code = int(body() or 0)
    except PlayrunnerError as error:
        code = _say_error(error, as_json)
    except OSError as error:
        if not (trouble := of_a_full_machine(error) or _of_the_state_folder(error)):
            raise
        code = _say_error(trouble, as_json)
    except KeyboardInterrupt:
        code = 130
    except OutputLost:
        code = 0
    if code := code_after_output(code):
        raise Exit(code=code)


def options_from(flags: dict[str, Any]) -> Any:
    """The shared flags as Options."""
    from playrunner.options import Options

    given = dict(flags)
    password = os.environ.get("PLAYRUNNER_BECOME_PASSWORD", "")
    if given.pop("ask_become_pass", False):
        import getpass

        password = getpass.getpass("sudo password: ")
    return Options(
        **{
            **given,
            "inventory": tuple(given["inventory"]),
            "extra_vars": tuple(given["extra_vars"]),
            "become_password": password,
        }
    )


def _say_error(error: PlayrunnerError, as_json: bool) -> int:
    if as_json:
        _print_error(error, error.exit_code)
    sys.stderr.write(f"error: {error}\n")
    return error.exit_code


def _of_the_state_folder(error: OSError) -> PlayrunnerError | None:
    """What a verb keeps beside the records of runs stands or falls with the same folder."""
    from playrunner.record.ledger import state_directory

    folder = state_directory()
    if not isinstance(error.filename, str) or not Path(error.filename).is_relative_to(folder):
        return None
    return BadInput(
        f"{error.filename}: {error.strerror}; set PLAYRUNNER_STATE_HOME to a folder that can be"
        " written"
    )


def _print_error(error: Exception, code: int) -> None:
    sys.stdout.write(json_text({"error": str(error), "exit_code": code}) + "\n")
