"""Named errors, each with its exit code; what a user reads when something cannot go on."""

from __future__ import annotations

import errno
from dataclasses import dataclass


@dataclass(frozen=True)
class Place:
    """Where something was written: a file and, when known, a line."""

    file: str
    line: int = 0

    def __str__(self) -> str:
        return f"{self.file}:{self.line}" if self.line else self.file


class PlayrunnerError(Exception):
    """Anything this program says on purpose; what escapes as another type is a defect."""

    exit_code = 1


class NotWritten(PlayrunnerError):
    """This machine could not write what the work says or records: its disk is full, or may not be
    written."""

    exit_code = 8


class BadInput(PlayrunnerError):
    """A flag, playbook, inventory or template that cannot be used; found before a host is touched."""

    exit_code = 5

    def __init__(self, message: str, place: Place | None = None) -> None:
        self.message, self.place = _in_one_line(message), place
        super().__init__(f"{_in_one_line(str(place))}: {self.message}" if place else self.message)


def _in_one_line(text: str) -> str:
    """What is refused may be part of the message: line ends and what a terminal would obey are
    shown as escapes."""
    if text.isprintable():
        return text
    return "".join(letter if letter.isprintable() else repr(letter)[1:-1] for letter in text)


class BadSetting(BadInput):
    """A connection setting that can never be used, whatever steps do before: refused before the
    first one."""

    def __init__(self, message: str, place: Place | None = None) -> None:
        # What a terminal would obey is shown: such text may be part of what is refused.
        super().__init__(
            "".join(letter if letter.isprintable() else repr(letter)[1:-1] for letter in message),
            place,
        )


class StepFailed(PlayrunnerError):
    """A step did not do what it says; carries what the module returned."""

    exit_code = 2


class HostUnreachable(PlayrunnerError):
    """A host or API does not answer; silence is never taken for absence."""

    exit_code = 4


class UndefinedVariable(PlayrunnerError):
    """A template reads a name that nothing defines."""

    exit_code = 2


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
    """A full or read-only disk, or too many open files, as what to say of it; None for any other
    error."""
    if not isinstance(error, OSError) or error.errno not in _FULL:
        return None
    return NotWritten(
        f"{error.filename}: {error.strerror}"
        if error.filename
        else f"on this machine: {error.strerror}"
    )
