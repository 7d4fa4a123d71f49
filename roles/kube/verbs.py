"""kube: what users need in a cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from playrunner.commands.flags import JSON_FLAG, verb

if TYPE_CHECKING:
    from invoke.context import Context

LIFECYCLE = False


@verb(
    flags=JSON_FLAG,
    help={
        "for": "training, add-ons or audit",
        "namespace": "where the Role is for",
        "user": "bind it to this user, or to a service account as NAMESPACE:NAME",
    },
)
def rights(
    context: Context,
    flags: dict[str, Any],
    for_: str = "",
    namespace: str = "default",
    user: str = "",
) -> int:
    """Print the Role and ClusterRoles that a user needs, for kubectl apply -f -."""
    from playrunner.training.kube.rights_command import show_rights

    return show_rights(for_, namespace, user, bool(flags["json"]))
