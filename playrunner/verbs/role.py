"""create, check, status and delete: what every role can do, whatever it is about."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from invoke.tasks import Task

from playrunner.cli import RUN_FLAGS, options_from, verb

CREATE = {**RUN_FLAGS, "ttl": ("", "how long it is meant to stay, as 8h or 3d: an expiry tag for `audit --expired`")}
_LOOK = ("inventory", "extra-vars", "json", "no-wait", "verbose")
LOOK = {name: RUN_FLAGS[name] for name in _LOOK}
DELETE = {name: RUN_FLAGS[name] for name in (*_LOOK, "check", "yes")}


def role_verbs(role: str) -> Iterator[Task[Any]]:
    """The four verbs of one role, which is loaded only when one of them is used."""

    @verb(flags=CREATE)
    def create(context: Any, flags: dict[str, Any]) -> int:
        return _create(role, flags, "create")

    @verb(flags=CREATE)
    def check(context: Any, flags: dict[str, Any]) -> int:
        return _create(role, {**flags, "check": True}, "check")

    @verb(flags=LOOK)
    def status(context: Any, flags: dict[str, Any]) -> int:
        from playrunner.stock import show_status

        return show_status([role], options_from(flags), f"{role}.status")

    @verb(flags=DELETE, help={"with-kept": "also what its steps say to keep"})
    def delete(context: Any, flags: dict[str, Any], with_kept: bool = False) -> int:
        from playrunner.stock import delete_roles

        return delete_roles([role], options_from(flags), f"{role}.delete", with_kept)

    shown = role.replace("_", "-")
    for made, text in ((create, f"Bring about everything of {shown}; a second time changes nothing."),
                       (check, f"Say what {shown}.create would change, and touch nothing."),
                       (status, f"What there is of {shown}, and in what state."),
                       (delete, f"Take away what {shown}.create made, and nothing else.")):
        made.__doc__ = text
        yield made


def _create(role: str, flags: dict[str, Any], word: str) -> int:
    from playrunner.load.playbook import roles_play
    from playrunner.run import run_plays

    ttl = flags.pop("ttl")
    return run_plays([roles_play([role])], options_from(flags), f"{role}.{word}", extra={"ttl": ttl} if ttl else None)
