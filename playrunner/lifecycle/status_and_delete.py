"""Stock: what there is of some roles, shown as a table or taken away."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from playrunner.errors import BadInput, Interrupted
from playrunner.lifecycle.delete import Gone, removable, remove
from playrunner.options import Options
from playrunner.output.json_output import print_json
from playrunner.playbook.playbook import roles_play
from playrunner.results import Result
from playrunner.run.run import run_plays
from playrunner.run.run_state import Shared
from playrunner.run.survey import Piece, Survey


def show_status(roles: Sequence[str], options: Options, command: str) -> int:
    survey = Survey()

    def show(shared: Shared) -> int:
        chosen = [
            piece for piece in survey.pieces if piece.step.role and piece.step.role.name in roles
        ]
        rows = [_row(piece) for piece in sorted(chosen, key=lambda piece: piece.step.position)]
        if options.json:
            print_json({"things": rows})
        else:
            _print_table(rows)
        return 0

    return look(roles, options, command, survey, show)


@dataclass(frozen=True)
class Ended:
    """How a deletion went."""

    gone: Sequence[Gone]
    kept: Sequence[Piece]
    planned: Sequence[Piece] = ()  # under --check: what would go

    @property
    def failed(self) -> list[Gone]:
        return [gone for gone in self.gone if gone.status == "failed" and not gone.later]

    def summary(self) -> dict[str, Any]:
        return {
            "removed": [gone.piece.title for gone in self.gone if gone.status == "changed"],
            "would_remove": [piece.title for piece in self.planned],
            "kept": [piece.title for piece in self.kept],
            "failed": {gone.piece.title: gone.reason for gone in self.failed},
        }


def delete_roles(
    roles: Sequence[str],
    options: Options,
    command: str,
    with_kept: bool = False,
    then: Callable[[Shared, Ended], int] | None = None,
) -> int:
    """Survey, say the plan, ask, and take away; `then` is done last and has the last word (a
    sweep)."""
    survey = Survey(removing=True)

    def go(shared: Shared) -> int:
        pieces = removable(survey, roles, with_kept)
        kept = [piece for piece in removable(survey, roles, True) if piece not in pieces]
        foreign = [piece for piece in survey.pieces if piece.found is not None and not piece.ours]
        _say_plan(pieces, kept, foreign, options)
        if pieces and not options.check and not options.yes and not agreed(shared, len(pieces)):
            return Interrupted.exit_code
        gone = (
            ()
            if options.check
            else remove(
                survey,
                pieces,
                lambda one: _hear(shared, one, options),
                lambda piece, why: _say_wait(piece, why, options),
                sweep_follows=then is not None,
            )
        )
        ended = Ended(gone, kept, pieces if options.check else ())
        if then:
            return then(shared, ended)
        if options.json:
            print_json(ended.summary())
        return 2 if ended.failed else 0

    return look(roles, options, command, survey, go)


def look(
    roles: Sequence[str],
    options: Options,
    command: str,
    survey: Survey,
    then: Callable[[Shared], int],
) -> int:
    """Survey the roles without a word, then go on; those of a whole stack know it: an inventory
    need not speak of all of them."""
    quiet = replace(options, quiet=True, json=False, check=False)
    extra = {"whole_stack": len(roles) > 1}
    return run_plays([roles_play(roles)], quiet, command, survey=survey, then=then, extra=extra)


def _row(piece: Piece) -> dict[str, Any]:
    state = (
        "absent" if piece.found is None else "foreign" if not piece.ours else piece.doing or "there"
    )
    return {
        "thing": piece.title,
        "module": piece.step.module,
        "state": state,
        "id": piece.module.label(piece.found) if piece.found is not None else "",
    }


def _print_table(rows: Sequence[dict[str, Any]]) -> None:
    width = max((len(row["thing"]) for row in rows), default=0)
    for row in rows:
        print(f"{row['thing']:<{width}}  {row['state']:<8}  {row['id']}".rstrip())
    there = sum(row["state"] not in ("absent", "foreign") for row in rows)
    print(f"{there} of {len(rows)} things are there")


def _say_plan(
    pieces: Sequence[Piece], kept: Sequence[Piece], foreign: Sequence[Piece], options: Options
) -> None:
    if options.json:
        return
    for piece in reversed(pieces):
        print(f"delete  {piece.title}  {piece.module.label(piece.found or {})}".rstrip())
    for piece in kept:
        print(
            f"keep    {piece.title}  {piece.module.label(piece.found or {})}  (--with-kept deletes"
            " it, too)"
        )
    for piece in foreign:
        print(
            f"leave   {piece.title}  {piece.module.label(piece.found or {})}  (does not carry our"
            " mark)"
        )
    if not pieces:
        print("nothing to delete")
    sys.stdout.flush()


def agreed(shared: Shared, count: int) -> bool:
    if not sys.stdin.isatty():
        raise BadInput(
            f"{count} things would be deleted and there is no terminal to ask; give --yes, or"
            " --check to only look"
        )
    return shared.report.ask(f"delete these {count}? [y/N]").strip().lower() in ("y", "yes")


def _say_wait(piece: Piece, why: str, options: Options) -> None:
    if not options.json:
        print(f"waits   {piece.title}  {why}\n", end="", flush=True)


def _hear(shared: Shared, gone: Gone, options: Options) -> None:
    piece, step = gone.piece, gone.piece.step
    shared.report.settled(piece.ctx.host, piece.title)
    status = "ok" if gone.later else gone.status
    values = {"changed": status == "changed", "failed": status == "failed", "msg": gone.reason}
    shared.hear(
        Result(
            piece.ctx.host,
            piece.title,
            step.module,
            status,
            values,
            round(gone.seconds, 3),
            step.place,
            step.position,
        )
    )
    if not options.json and gone.later:
        print(f"later   {piece.title}  {gone.reason}\n", end="", flush=True)
    elif not options.json and gone.status != "failed":
        line = (
            f"gone    {piece.title}  {gone.seconds:.1f}s"
            if gone.status == "changed"
            else f"left    {piece.title}"
        )
        print(f"{line}\n", end="", flush=True)  # in one piece: several threads speak
