"""Named errors, each with its exit code; their text is what a user reads."""

from __future__ import annotations

import errno
from collections.abc import Mapping

from playrunner.frozen import frozen


@frozen
class Place:
    """Where something was written: a file and, when known, a line."""

    file: str
    line: int = 0

    def __str__(self) -> str:
        return f"{self.file}:{self.line}" if self.line else self.file


class PlayrunnerError(Exception):
    """An expected error with a message for the user; any other exception is a defect."""

    exit_code = 1
    json_fields: Mapping[str, object] = {}  # beside the message, under --json


class NotWritten(PlayrunnerError):
    """This machine could not write output or records: its disk is full or read-only."""

    exit_code = 8


class BadInput(PlayrunnerError):
    """A flag, playbook, inventory or template that is wrong; found before a host is touched."""

    exit_code = 5

    def __init__(self, message: str, place: Place | None = None) -> None:
        self.message, self.place = _in_one_line(message), place
        super().__init__(f"{_in_one_line(str(place))}: {self.message}" if place else self.message)


class BadOption(BadInput):
    """A value of the command line, or a file it names, that cannot be used."""


class NotInstalled(BadInput):
    """A role or collection that is in none of the folders where they are looked for."""


class NoSuchRole(NotInstalled):
    """A role that is in none of the folders where roles are looked for."""


class NoSuchTasks(BadInput):
    """A file of tasks that is in none of the folders where they are looked for."""


class RunStopped(BadInput):
    """Something wrong in a playbook that only its run could find, and that no `rescue` answers: it
    ends the run for all hosts."""


class NotLoaded(RunStopped):
    """An included file that is not valid."""


class NotDecrypted(BadInput):
    """A text encrypted with vault that no given password decrypts."""


def _in_one_line(text: str) -> str:
    """The text with line ends and control characters as escapes: it may quote hostile input."""
    if text.isprintable():
        return text
    return "".join(letter if letter.isprintable() else repr(letter)[1:-1] for letter in text)


class BadArgument(BadInput):
    """An argument that a module cannot take; `result` is the message of a step that fails by it at
    run time, in the words that playbooks written for Ansible look for."""

    def __init__(self, message: str, place: Place | None, result: str) -> None:
        super().__init__(message, place)
        self.result = result


class FormerArgument(BadArgument):
    """An argument that a module once had: its step fails when its turn has come."""


class BadSetting(BadInput):
    """A connection setting that no step could make valid: refused before the first step."""

    def __init__(self, message: str, place: Place | None = None) -> None:
        # Control characters are escaped: the message may quote hostile input.
        super().__init__(
            "".join(letter if letter.isprintable() else repr(letter)[1:-1] for letter in message),
            place,
        )


class RunRefused(BadInput):
    """A setting without which no step of a run can work: credentials, or whose things to make."""


class LeaseNotHeld(RunRefused):
    """Another run works on the same stack, or took it from this one: nothing may be changed."""

    exit_code = 2


class StepFailed(PlayrunnerError):
    """A step failed."""

    exit_code = 2


class NoInterpreter(StepFailed):
    """A host lacks the Python that it is used with; `result` is the message of the step's result,
    in the words that playbooks written for Ansible look for."""

    def __init__(self, message: str, python: str) -> None:
        super().__init__(message)
        self.result = f"The module interpreter '{python}' was not found."


class HostUnreachable(PlayrunnerError):
    """A host or API does not answer; that never counts as absence of a resource."""

    exit_code = 4


class TemplateFailed(StepFailed):
    """A template file cannot be rendered; the message starts with the file's place."""


class UndefinedVariable(PlayrunnerError):
    """A template reads a name that nothing defines; `name` is empty where that is not known."""

    exit_code = 2

    def __init__(self, message: str, name: str = "") -> None:
        super().__init__(message)
        self.name = name


class NotYet(PlayrunnerError):
    """A template reads a value that no step has produced yet: unknown under --check."""

    exit_code = 2


class LockHeld(PlayrunnerError):
    """Another run works on the same inventory."""

    exit_code = 2


class Interrupted(PlayrunnerError):
    """The user pressed Ctrl-C, or asked the program to end."""

    exit_code = 130


_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EMFILE, errno.ENFILE}


def of_a_full_machine(error: BaseException) -> NotWritten | None:
    """The error for a full or read-only disk, or too many open files; None for any other."""
    if not isinstance(error, OSError) or error.errno not in _FULL:
        return None
    return NotWritten(
        f"{error.filename}: {error.strerror}"
        if error.filename
        else f"on this machine: {error.strerror}"
    )
