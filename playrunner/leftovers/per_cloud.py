"""Leftovers of any cloud: which search and which kinds go with a client."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Protocol

from playrunner.aws.client import Aws
from playrunner.gcp.client import Gcp
from playrunner.leftovers import find as aws_find
from playrunner.leftovers.aws import kinds as aws_kinds
from playrunner.leftovers.gcp import find as gcp_find
from playrunner.leftovers.gcp import kinds as gcp_kinds
from playrunner.leftovers.leftover import Leftover, ServiceResource

Client = Aws | Gcp


class Removable(Protocol):
    """What the removal asks of a kind, in either cloud."""

    @property
    def after(self) -> tuple[str, ...]: ...

    @property
    def gone_seconds(self) -> float: ...

    def look(self, client: Any, leftover: Leftover, /) -> ServiceResource | None: ...

    def busy(self, thing: ServiceResource) -> str: ...

    def delete(self, client: Any, thing: ServiceResource, /) -> None: ...

    def holders(self, client: Any, thing: ServiceResource, /) -> str: ...


def find(client: Client, owner_cluster: str | None, known_as: Iterable[str] = ()) -> list[Leftover]:
    """What is left of one stack, or with None of every stack that left a tag. Read-only."""
    if isinstance(client, Gcp):
        return gcp_find.find(client, owner_cluster, known_as)
    return aws_find.find(client, owner_cluster, known_as)


def kinds_of(client: Client) -> Mapping[str, Removable]:
    return gcp_kinds.BY_NAME if isinstance(client, Gcp) else aws_kinds.BY_NAME


def about(client: Client, subject: str) -> Client:
    """The same account, with another word for what the calls are about."""
    if isinstance(client, Gcp):
        return Gcp(client.account_session, subject, client.call_log, client.sleep)
    return Aws(client.account_session, subject, client.call_log, client.sleep)
