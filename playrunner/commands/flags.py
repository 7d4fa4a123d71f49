"""Verbs as Invoke tasks: the shared flags, what a verb returns, and exit codes."""

from __future__ import annotations

import dataclasses
import inspect
import os
import sys
from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from invoke.exceptions import Exit
from invoke.tasks import Task, task

from playrunner.errors import BadInput, PlayrunnerError, of_a_full_machine
from playrunner.options import Options
from playrunner.text.streams import OutputLost, code_after_output
from playrunner.text.streams import as_json as json_text

_KIND = inspect.Parameter.POSITIONAL_OR_KEYWORD
_CONTEXT = inspect.Parameter("context", _KIND)


class Flag(NamedTuple):
    """A flag's default and help text; one whose default is a list may be given several times."""

    default: Any
    help: str


class FlagSet(dict[str, Flag]):
    """Flags by their names as typed; what Invoke needs of them is worked out once for all verbs."""

    @cached_property
    def defaults(self) -> dict[str, Any]:
        return {name.replace("-", "_"): flag.default for name, flag in self.items()}

    @cached_property
    def parameters(self) -> list[inspect.Parameter]:
        return [
            inspect.Parameter(name, _KIND, default=default)
            for name, default in self.defaults.items()
        ]

    @cached_property
    def lists(self) -> list[str]:
        return [name for name, default in self.defaults.items() if isinstance(default, list)]

    @cached_property
    def helps(self) -> dict[str, str]:
        return {name: _with_default(*flag) for name, flag in self.items()}


# The flags of every verb that runs steps: the fields of Options that have a help text.
_OF_OPTIONS = {
    option.name.replace("_", "-"): Flag(
        list(option.default) if isinstance(option.default, tuple) else option.default,
        option.metadata["help"],
    )
    for option in dataclasses.fields(Options)
    if "help" in option.metadata
}
_ASK = Flag(False, "ask for the sudo password (or set PLAYRUNNER_BECOME_PASSWORD)")
RUN_FLAGS = FlagSet({**_OF_OPTIONS, "ask-become-pass": _ASK})


def _flag_set(flags: Mapping[str, tuple[Any, str]]) -> FlagSet:
    return FlagSet((name, Flag(*described)) for name, described in flags.items())


def pick(*names: str) -> FlagSet:
    """Some of the shared flags, for a verb that takes no others."""
    return FlagSet({name: RUN_FLAGS[name] for name in names})


INVENTORY_FLAGS = pick("inventory", "limit", "json")
JSON_FLAG = pick("json")


def options_from(flags: Mapping[str, Any]) -> Options:
    """The shared flags as Options; what a verb does not take has its default."""
    values: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value for name, value in flags.items()
    }
    password = os.environ.get("PLAYRUNNER_BECOME_PASSWORD", "")
    if values.pop("ask_become_pass", False):
        import getpass

        password = getpass.getpass("sudo password: ")
    return Options(**values, become_password=password)


def verb(
    *,
    flags: Mapping[str, tuple[Any, str]] = RUN_FLAGS,
    positional: Iterable[str] = (),
    help: Mapping[str, str] | None = None,
    name: str | None = None,
) -> Callable[[Callable[..., Any]], Task[Any]]:
    """An Invoke task whose shared flags arrive as one mapping `flags`, and whose result is its exit
    code."""

    def wrap(body: Callable[..., Any]) -> Task[Any]:
        parameters = [
            parameter
            for parameter in list(inspect.signature(body).parameters.values())[1:]
            if parameter.name != "flags"
        ]
        shared = flags if isinstance(flags, FlagSet) else _flag_set(flags)

        def run(context: Any, *args: Any, **kwargs: Any) -> None:
            values = dict(zip([parameter.name for parameter in parameters], args, strict=False))
            values.update(kwargs)
            taken = {name: values.pop(name, default) for name, default in shared.defaults.items()}
            _finish(lambda: body(context, flags=taken, **values), bool(taken.get("json")))

        run.__name__ = name or body.__name__
        run.__doc__ = body.__doc__
        run.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
            [_CONTEXT, *parameters, *shared.parameters]
        )
        own_defaults = {
            parameter.name.replace("_", "-"): parameter.default for parameter in parameters
        }
        own_helps = {
            flag: _with_default(own_defaults[flag], text) for flag, text in (help or {}).items()
        }
        made: Task[Any] = task(
            name=name,
            positional=list(positional),
            auto_shortflags=False,
            iterable=shared.lists,
            incrementable=[flag for flag in ("verbose",) if flag in shared],
            help={**shared.helps, **own_helps},
        )(run)
        return made

    return wrap


def positional_if_given(path: str, name: str) -> list[str]:
    """Invoke has no optional positional arguments: it is one only if the command line gives it."""
    after = sys.argv[sys.argv.index(path) + 1 :] if path in sys.argv else []
    return [name] if after and not after[0].startswith("-") else []


def print_error(error: Exception, code: int) -> None:
    """An error as the one JSON object of a verb."""
    fields = getattr(error, "json_fields", {})
    sys.stdout.write(json_text({"error": str(error), "exit_code": code, **fields}) + "\n")


def _with_default(default: Any, text: str) -> str:
    """The help text with the flag's default, where it has one that the text does not explain."""
    required_or_empty = default is inspect.Parameter.empty or not default
    if required_or_empty or "default" in text:
        return text
    return f"{text} (default: {'yes' if default is True else default})"


def _finish(body: Callable[[], Any], as_json: bool) -> None:
    """Run a verb; its result is the exit code. Our own errors are one line, not a traceback."""
    try:
        code = int(body() or 0)
    except PlayrunnerError as error:
        code = _report(error, as_json)
    except OSError as error:
        explained = of_a_full_machine(error) or _of_the_state_folder(error)
        if not explained:
            raise
        code = _report(explained, as_json)
    except KeyboardInterrupt:
        code = 130
    except OutputLost:
        code = 0
    if code := code_after_output(code):
        raise Exit(code=code)


def _report(error: PlayrunnerError, as_json: bool) -> int:
    if as_json:
        print_error(error, error.exit_code)
    sys.stderr.write(f"error: {error}\n")
    return error.exit_code


def _of_the_state_folder(error: OSError) -> PlayrunnerError | None:
    """What a verb keeps beside the records of runs fails together with that folder."""
    from playrunner.record.ledger import state_directory

    folder = state_directory()
    if not isinstance(error.filename, str) or not Path(error.filename).is_relative_to(folder):
        return None
    return BadInput(
        f"{error.filename}: {error.strerror}; set PLAYRUNNER_STATE_HOME to a writable folder"
    )
