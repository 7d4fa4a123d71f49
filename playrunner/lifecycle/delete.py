"""Removal: what a survey found is taken away, last first: a thing goes once everything that uses it
is gone."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from playrunner.cloud.reconcile import StillInUse, dissolve
from playrunner.cloud.resource import HoldsData
from playrunner.errors import HostUnreachable
from playrunner.hostside.module import Failed
from playrunner.run.survey import Piece, Survey

IN_USE_SECONDS = 45.0  # where a sweep follows, which knows more of who uses what
WAITS_SECONDS = 5.0  # a wait as long as this is told, with each of its reasons once


@dataclass(frozen=True)
class Gone:
    """How the removal of one piece ended: `changed`, `ok` when there was nothing to do, or `failed`
    with the reason."""

    piece: Piece
    status: str
    reason: str = ""
    seconds: float = 0.0
    holds_data: bool = False  # it stays because of what is in it
    # Something uses it that no role knows of; the sweep that follows looks for both
    later: bool = False


def removable(
    survey: Survey, roles: Sequence[str] | None = None, with_kept: bool = False
) -> list[Piece]:
    """The pieces that are there, carry our mark and belong to these roles (all of them without
    any)."""

    def wanted(piece: Piece) -> bool:
        role = piece.step.role
        return roles is None or (role is not None and role.name in roles)

    stays = [] if with_kept else kept(survey)
    return [piece for piece in survey.pieces if piece.ours and wanted(piece) and piece not in stays]


def kept(survey: Survey) -> list[Piece]:
    """What its steps say to keep, and what that stands on."""
    named = [piece for piece in survey.pieces if piece.kept and piece.ours]
    return [
        piece
        for piece in survey.pieces
        if piece.ours and (piece.kept or survey.users_of(piece.flight, named))
    ]


def remove(
    survey: Survey,
    pieces: Sequence[Piece],
    say: Callable[[Gone], None],
    waits: Callable[[Piece, str], None] = lambda piece, why: None,
    sweep_follows: bool = False,
) -> list[Gone]:
    """Take the pieces away, side by side where nothing stands between them; returns how each of
    them ended.

    `waits` hears why a piece does not go yet.
    """
    ended = {id(piece): threading.Event() for piece in pieces}
    outcomes: dict[int, Gone] = {}

    def work(piece: Piece) -> None:
        try:
            users = [
                user
                for user in survey.users_of(piece.flight, pieces)
                if user.flight is not piece.flight
            ]
            for user in users:
                ended[id(user)].wait()
            stays = next(
                (
                    user
                    for user in users
                    if id(user) not in outcomes or outcomes[id(user)].status == "failed"
                ),
                None,
            )
            if stays:
                outcome = Gone(
                    piece,
                    "failed",
                    f"{stays.title} still uses it",
                    later=_is_later(outcomes.get(id(stays))),
                )
            else:
                outcome = _dissolved(piece, waits, IN_USE_SECONDS if sweep_follows else None)
            outcomes[id(piece)] = outcome
            say(outcome)
        finally:
            ended[id(piece)].set()

    threads = [
        threading.Thread(target=work, args=(piece,), name=piece.title, daemon=True)
        for piece in pieces
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return [
        outcomes.get(id(piece), Gone(piece, "failed", "a defect ended it; see above"))
        for piece in pieces
    ]


def _is_later(outcome: Gone | None) -> bool:
    return outcome is not None and outcome.later


def _dissolved(
    piece: Piece, waits: Callable[[Piece, str], None], in_use_seconds: float | None
) -> Gone:
    started = time.monotonic()
    piece.ctx.progress("going")
    piece.ctx.refresh()
    try:
        values = dissolve(
            piece.module, replace(piece.ctx, progress=_heard(piece, waits)), in_use_seconds
        )
    except (Failed, HostUnreachable) as problem:
        return Gone(
            piece,
            "failed",
            str(problem),
            time.monotonic() - started,
            isinstance(problem, HoldsData),
            isinstance(problem, StillInUse),
        )
    return Gone(
        piece,
        "changed" if values["changed"] else "ok",
        str(values.get("msg", "")),
        time.monotonic() - started,
    )


def _heard(piece: Piece, waits: Callable[[Piece, str], None]) -> Callable[[str], None]:
    """The piece's own way to tell what goes on, with a word to `waits` when it takes long."""
    began, said = time.monotonic(), set[str]()

    def progress(why: str) -> None:
        piece.ctx.progress(why)
        if why not in said and time.monotonic() - began > WAITS_SECONDS:
            said.add(why)
            waits(piece, why)

    return progress
