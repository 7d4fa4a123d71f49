"""Verbs as Invoke tasks: the shared flags, what a verb returns, and exit codes."""

from __future__ import annotations

import dataclasses
import inspect
import json
import os
import sys
from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from invoke.exceptions import Exit
from invoke.parser.argument import Argument
from invoke.tasks import Task

from playrunner.commands.configured import asks_become_password, configured
from playrunner.commands.interrupts import raise_again
from playrunner.errors import BadInput, PlayrunnerError, StepFailed, of_a_full_machine
from playrunner.options import Options
from playrunner.text.streams import OutputLost, code_after_output
from playrunner.text.streams import as_json as json_text

_KIND = inspect.Parameter.POSITIONAL_OR_KEYWORD


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


VAULT_FLAGS = pick("vault-password-file", "vault-id", "ask-vault-pass")
INVENTORY_FLAGS = pick("inventory", "limit", "json") | VAULT_FLAGS
JSON_FLAG = pick("json")


def options_from(flags: Mapping[str, Any]) -> Options:
    """The shared flags as Options; what a verb does not take has its default."""
    values: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value for name, value in flags.items()
    }
    values["extra_vars"] = (*_handed_on(), *values.get("extra_vars", ()))
    password = os.environ.get("PLAYRUNNER_BECOME_PASSWORD", "")
    if values.pop("ask_become_pass", False) or (not password and asks_become_password()):
        import getpass

        password = getpass.getpass("sudo password: ")
    options = configured(Options(**values, become_password=password), typed_flags(sys.argv))
    use_vault(options)
    return options


def _handed_on() -> tuple[str, ...]:
    """--extra-vars of the play whose step started this command; those typed here win."""
    text = os.environ.get("PLAYRUNNER_EXTRA_VARS", "")
    try:
        given = json.loads(text) if text else []
    except ValueError:
        given = None
    if not isinstance(given, list) or not all(isinstance(each, str) for each in given):
        raise BadInput("PLAYRUNNER_EXTRA_VARS is a JSON list of texts as after --extra-vars")
    return tuple(given)


def typed_flags(words: Iterable[str]) -> set[str]:
    """The flags that a command line names; what follows `--` is another program's."""
    words = list(words)
    words = words[: words.index("--")] if "--" in words else words
    return {word[2:].partition("=")[0].replace("-", "_") for word in words if word[:2] == "--"}


def use_vault(options: Options) -> None:
    """Read the vault passwords that flags or the environment name, before anything else."""
    from playrunner.vault import vault

    vault.use(
        vault.VaultSettings(options.vault_password_file, options.vault_id, options.ask_vault_pass)
    )


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
        shared = flags if isinstance(flags, FlagSet) else _flag_set(flags)
        return Verb(body, shared, list(positional), help or {}, name)

    return wrap


class Verb(Task[Any]):
    """A task whose flags are worked out when a command line is parsed, which `--list` is not."""

    def __init__(
        self,
        body: Callable[..., Any],
        shared: FlagSet,
        positional: list[str],
        help: Mapping[str, str],
        name: str | None,
    ) -> None:
        self._function, self._shared, self._own_help = body, shared, help

        def run(context: Any, *args: Any, **kwargs: Any) -> None:
            values = dict(zip([each.name for each in self._own], args, strict=False))
            values.update(kwargs)
            taken = {name: values.pop(name, default) for name, default in shared.defaults.items()}
            _finish(lambda: body(context, flags=taken, **values), bool(taken.get("json")))

        run.__name__ = name or body.__name__
        run.__doc__ = body.__doc__
        super().__init__(run, name=name, positional=positional, auto_shortflags=False)

    @cached_property
    def _own(self) -> list[inspect.Parameter]:
        """The parameters that are the verb's own: neither the context nor shared flags."""
        parameters = list(inspect.signature(self._function).parameters.values())
        return [each for each in parameters[1:] if each.name != "flags"]

    def argspec(self, body: Callable[..., Any]) -> inspect.Signature:
        return inspect.Signature([*self._own, *self._shared.parameters])

    def get_arguments(self, ignore_unknown_help: bool | None = None) -> list[Argument]:
        defaults = {each.name.strip("_").replace("_", "-"): each.default for each in self._own}
        own = {flag: _with_default(defaults[flag], text) for flag, text in self._own_help.items()}
        self.help = {**self._shared.helps, **own}
        self.iterable = self._shared.lists
        self.incrementable = [flag for flag in ("verbose",) if flag in self._shared]
        return super().get_arguments(ignore_unknown_help)

    def __deepcopy__(self, memo: dict[int, Any]) -> Verb:
        return self  # Invoke copies the namespace of a tasks.py; nothing changes a verb


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
    raise_again()
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
    except Exception as error:  # whatever a service's library raises; a defect is raised again
        code = _report(_of_a_service(error), as_json)
    if code := code_after_output(code):
        raise Exit(code=code)


def _report(error: PlayrunnerError, as_json: bool) -> int:
    if as_json:
        print_error(error, error.exit_code)
    sys.stderr.write(f"error: {error}\n")
    return error.exit_code


def _of_a_service(error: Exception) -> PlayrunnerError:
    """A refusal outside any step, as one line; any other exception is a defect, and raised."""
    from playrunner.hostside.module import Failed

    if isinstance(error, Failed):
        return StepFailed(str(error))
    raise error


def _of_the_state_folder(error: OSError) -> PlayrunnerError | None:
    """What a verb keeps beside the records of runs fails together with that folder."""
    from playrunner.record.ledger import state_directory

    folder = state_directory()
    if not isinstance(error.filename, str) or not Path(error.filename).is_relative_to(folder):
        return None
    return BadInput(
        f"{error.filename}: {error.strerror}; set PLAYRUNNER_STATE_HOME to a writable folder"
    )
