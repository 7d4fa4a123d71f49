"""Accounts with libuser's tools, which know local ones only.

Travels to hosts, so: the standard library only, Python 3.9, and nothing that is slow to import.
"""

from __future__ import annotations

from playrunner.modules.host._accounts import run_tool

TYPE_CHECKING = False
if TYPE_CHECKING:
    from playrunner.hostside.host_context import HostContext
    from playrunner.hostside.state import State


def set_local(ctx: HostContext, user: str, before: State, differing: State) -> None:
    """What luseradd and lusermod have no word for: membership of groups, and expiry."""
    if "groups" in differing:
        old, new = set(before.get("groups") or ()), set(differing["groups"])
        for flag, names in (("-M", new - old), ("-m", old - new)):
            for group in sorted(names):
                run_tool(ctx, ["lgroupmod", flag, user, group])
    if "expires" in differing and (before or differing["expires"]):
        run_tool(ctx, ["lchage", "-E", str(_day(differing["expires"])), user])


def _day(date: str) -> int:
    """Days since 1970; -1 for an account that does not expire."""
    if not date:
        return -1
    import time

    return int(time.mktime(time.strptime(date, "%Y-%m-%d")) - time.timezone) // 86400
