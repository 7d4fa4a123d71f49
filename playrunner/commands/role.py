"""create, check, status and delete: what every role can do, whatever it is about."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from invoke.tasks import Task

from playrunner.commands.flags import RUN_FLAGS, options_from, verb
from playrunner.errors import BadInput

if TYPE_CHECKING:
    from playrunner.model import Play

CREATE = {
    **RUN_FLAGS,
    "ttl": ("", "how long it is meant to stay, as 8h or 3d: an expiry tag for `audit --expired`"),
    "max-hourly": ("", "refuse before anything is made when the plan costs more dollars an hour"),
}
_LOOK = ("inventory", "extra-vars", "kubeconfig", "json", "no-wait", "verbose")
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
        from playrunner.lifecycle.status_and_delete import show_status

        return show_status([role], options_from(flags), f"{role}.status")

    @verb(flags=DELETE, help={"with-kept": "also what its steps say to keep"})
    def delete(context: Any, flags: dict[str, Any], with_kept: bool = False) -> int:
        from playrunner.lifecycle.status_and_delete import delete_roles

        return delete_roles([role], options_from(flags), f"{role}.delete", with_kept)

    shown = role.replace("_", "-")
    for made, text in (
        (create, f"Bring about everything of {shown}; a second time changes nothing."),
        (check, f"Say what {shown}.create would change, and touch nothing."),
        (status, f"What there is of {shown}, and in what state."),
        (delete, f"Take away what {shown}.create made, and nothing else."),
    ):
        made.__doc__ = text
        yield made


def _create(role: str, flags: dict[str, Any], word: str) -> int:
    from playrunner.playbook.playbook import roles_play
    from playrunner.run.run import run_plays

    ttl, limit, play = flags.pop("ttl"), flags.pop("max_hourly"), roles_play([role])
    return run_plays(
        [play],
        options_from(flags),
        f"{role}.{word}",
        extra=with_limit({"ttl": ttl} if ttl else {}, limit, play),
    )


def with_limit(extra: dict[str, Any], limit: str, play: Play) -> dict[str, Any]:
    """The extra variables with what --max-hourly says; where nothing would heed it, it must not
    seem to be heeded."""
    from playrunner.commands.cost import preflight_steps

    if not limit:
        return extra
    if not limit.replace(".", "", 1).isdigit():
        raise BadInput(f'--max-hourly takes dollars an hour, as 12.50, not "{limit}"')
    if not preflight_steps(play):
        raise BadInput(
            f"--max-hourly cannot be kept: {play.name} has no preflight; make it the first"
            " dependency of the role"
        )
    return {**extra, "max_hourly": float(limit)}
