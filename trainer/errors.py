"""Named errors, each with the exit code its run ends with."""

from __future__ import annotations


class TrainerError(Exception):
    """An expected failure with a message for the user; any other exception is a bug."""

    exit_code = 1


class BadInput(TrainerError):
    """A profile, flag, data file or setting that cannot be used; found before training starts."""

    exit_code = 5

    def __init__(self, message: str) -> None:
        # The message may quote bad input: line ends and control characters are escaped.
        super().__init__(
            "".join(letter if letter.isprintable() else repr(letter)[1:-1] for letter in message)
        )


class Unhealthy(TrainerError):
    """Training cannot go on: the loss is no longer a number."""

    exit_code = 6


class NotWritten(TrainerError):
    """The disk refuses what a run has to write: it is full, over its quota or broken."""


class AskedToEnd(TrainerError):
    """SIGTERM without a request to end the run: its state is saved and it can resume."""

    exit_code = 75


class NotRestarted(TrainerError):
    """Its launch's restarts are used up, or one would be in vain: what keeps its pods going sees by
    the code that they are not to be started again."""

    exit_code = 79


def nearest(word: str, known: list[str]) -> str:
    """`; did you mean "x"?` when something known is close enough, else what there is."""
    import difflib

    close = difflib.get_close_matches(word, known, n=1, cutoff=0.5)
    return f'; did you mean "{close[0]}"?' if close else f"; known are {', '.join(sorted(known))}"
