"""A warning that has its place among the results of a run."""

from __future__ import annotations

from playrunner.errors import Place
from playrunner.frozen import frozen
from playrunner.model import Position
from playrunner.results import Result


@frozen
class Warned:
    """A warning of a step: before its results, or with the result of one host."""

    text: str
    subject: str  # the word that it is about
    place: Place
    host: str
    play: int
    position: Position
    result: Result | None = None
