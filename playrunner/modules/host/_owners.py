"""Users and groups by name or number, and the owner and mode of a path."""

from __future__ import annotations

import os

from playrunner.hostside.module import Failed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Union

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
