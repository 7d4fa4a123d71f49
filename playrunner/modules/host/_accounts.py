"""Users and groups as the host's own tools keep them."""

from __future__ import annotations

from playrunner.hostside.module import Failed
from playrunner.modules.host._packages import needed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Optional

    from playrunner.hostside.host_context import HostContext

# Userdel could not remove something beside the account, a missing mail spool for instance
NOT_IN_USE = 12


def run_tool(ctx: HostContext, words: list[str], stdin: Optional[str] = None) -> None:
    """useradd and its siblings; what they complain about is the failure."""
    tool = needed(words[0], "it belongs to the shadow tools (package passwd or shadow-utils)")
    ran = ctx.run([tool, *words[1:]], stdin=stdin)
    if ran.rc and not (words[0].endswith("userdel") and ran.rc == NOT_IN_USE):
        raise Failed(f"{words[0]}: {(ran.err or ran.out).strip()}", rc=ran.rc)


def groups_of(user: str, primary: int) -> list[str]:
    """The names of a user's groups, without the first one."""
    import grp

    return sorted(
        group.gr_name
        for group in grp.getgrall()
        if user in group.gr_mem and group.gr_gid != primary
    )


def group_number(group: str) -> int:
    import grp

    try:
        return grp.getgrnam(group).gr_gid
    except KeyError:
        try:
            return grp.getgrgid(int(group)).gr_gid
        except (KeyError, ValueError):
            raise Failed(
                f"Group {group} does not exist; create it first with the group module"
            ) from None


def group_called(group: str) -> str:
    import grp

    return grp.getgrgid(group_number(group)).gr_name


def shadow_columns(user: str) -> Optional[list[str]]:
    """The account's line of /etc/shadow, or None when it may not be read."""
    try:
        with open("/etc/shadow") as file:
            for line in file:
                columns = line.rstrip("\n").split(":")
                if columns[0] == user and len(columns) >= 8:
                    return columns
    except OSError:
        pass
    return None


def fingerprint(secret: Optional[str]) -> Optional[str]:
    """Something that differs when a secret differs, and may be shown."""
    import hashlib

    return None if secret is None else hashlib.sha256(secret.encode()).hexdigest()[:12]
