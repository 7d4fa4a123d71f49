"""Membership of groups with libuser's tools, which know local accounts only.

Travels to hosts, so: the standard library only, Python 3.9, and nothing that is slow to import.
"""

from __future__ import annotations

from playrunner.modules.host._accounts import run_tool

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from playrunner.hostside.host_context import HostContext


def set_local_groups(
    ctx: HostContext, user: str, before: Iterable[str], after: Iterable[str]
) -> None:
    """Add the user to groups and remove it from others: lusermod has no word for that."""
    for group in sorted(set(after) - set(before)):
        run_tool(ctx, ["lgroupmod", "-M", user, group])
    for group in sorted(set(before) - set(after)):
        run_tool(ctx, ["lgroupmod", "-m", user, group])
