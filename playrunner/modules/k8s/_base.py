"""KubeModule: what modules for things in a Kubernetes cluster share."""

from __future__ import annotations

import socket
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from playrunner.cloud.resource import DELETING, CloudModule
from playrunner.errors import PlayrunnerError

if TYPE_CHECKING:
    from playrunner.run.context import Context

ANSWER_SECONDS = 3.0
NO_CLUSTER = "no_cluster"  # what an inventory without one has steps come after


class KubeModule(CloudModule):
    """A thing in a cluster."""

    def stands_on_nothing(self, ctx: Context) -> bool:
        return stands_on_nothing(self.after, ctx)


def stands_on_nothing(after: Any, ctx: Context) -> bool:
    """Whether what a step speaks of need not be looked for: there is no cluster, or what it comes
    after (`after: "{{ x }}"`) is not there, or about to go, and no API answers any more. Of a
    cluster that should be there, silence is an error."""
    named = [
        result
        for result in (after if isinstance(after, list) else [after])
        if isinstance(result, Mapping)
    ]
    if any(result.get(NO_CLUSTER) is True for result in named):
        return True
    return any(
        result.get("absent") is True or result.get(DELETING) is True for result in named
    ) and not answers(ctx)


def answers(ctx: Context) -> bool:
    """Whether it is worth asking: a cluster that was half made, or a rehearsal's, has no API behind
    its name."""
    try:
        server = urlsplit(ctx.kube.cluster.transport.access.server)
        with socket.create_connection((server.hostname or "", server.port or 443), ANSWER_SECONDS):
            return True
    except (OSError, PlayrunnerError):
        return False
