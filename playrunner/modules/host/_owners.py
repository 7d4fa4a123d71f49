"""Users and groups by name or number, and the owner and mode of a path."""

from __future__ import annotations

import os

from playrunner.hostside.module import Failed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Union

    from playrunner.hostside.host_context import HostContext
    from playrunner.hostside.state import State


def set_attributes(place: Union[str, int], wanted: State) -> None:
    """Owner and mode, of a path or of an open file; what `wanted` does not name stays."""
    owner, group, mode = wanted.get("owner"), wanted.get("group"), wanted.get("mode")
    if owner is not None or group is not None:
        # First the owner: a change of it clears the set-user-id bit that a mode may ask for.
        os.chown(
            place,
            -1 if owner is None else user_id(owner),
            -1 if group is None else group_id(group),
            **({"follow_symlinks": False} if isinstance(place, str) else {}),
        )
    if mode is not None and not (isinstance(place, str) and os.path.islink(place)):
        os.chmod(place, int(mode, 8))


def user_id(owner: Any) -> int:
    import pwd

    try:
        return pwd.getpwnam(str(owner)).pw_uid
    except KeyError:
        if str(owner).isdigit():
            return int(owner)
        raise Failed(
            f"chown failed: failed to look up user {owner}; create it first or write its number"
        ) from None


def group_id(group: Any) -> int:
    import grp

    try:
        return grp.getgrnam(str(group)).gr_gid
    except KeyError:
        if str(group).isdigit():
            return int(group)
        raise Failed(
            f"chgrp failed: failed to look up group {group}; create it first or write its number"
        ) from None


def warn_of_unknown(ctx: HostContext, owner: Any, group: Any) -> None:
    """Under --check an earlier step may be the one that makes a user or group: only a warning."""
    import grp
    import pwd

    for kind, name, number, by_name, by_number in (
        ("user", owner, "uid", pwd.getpwnam, pwd.getpwuid),
        ("group", group, "gid", grp.getgrnam, grp.getgrgid),
    ):
        if name is None:
            continue
        digits = str(name).isdigit()
        try:
            by_number(int(name)) if digits else by_name(str(name))
        except KeyError:
            shown = f"{kind} with {number} {name}" if digits else f"{kind} {name}"
            ctx.warn(f"failed to look up {shown}. Create {kind} up to this point in real play")


def user_name(uid: int) -> str:
    import pwd

    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)


def group_name(gid: int) -> str:
    import grp

    try:
        return grp.getgrgid(gid).gr_name
    except KeyError:
        return str(gid)
