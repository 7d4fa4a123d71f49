"""Kind: what the sweep must know of one kind of thing: how to list it, how to remove it, and what
must go first."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar

from playrunner.aws.client import Aws
from playrunner.aws.tags import plain
from playrunner.cloud.resource import Refused
from playrunner.leftovers.aws.stacks import Stacks
from playrunner.leftovers.leftover import Leftover, ServiceResource, created_at


class Kind:
    """One kind of thing. Listing is read-only; `delete` asks once and does not wait."""

    name: ClassVar[str]
    service: ClassVar[str]
    # Service and type as ARNs spell them, by which the tagging API's list is compared
    arn: ClassVar[str] = ""
    after: ClassVar[tuple[str, ...]] = ()  # kinds of the same stack that must be gone before
    gone_seconds: ClassVar[float] = 300  # how long it may take to be gone once it can go
    is_global: ClassVar[bool] = False
    # It may hold data or work of others: being inside our VPC is not enough to delete it.
    holds_user_data: ClassVar[bool] = False

    # It serves others: being inside our VPC is not enough to delete it.
    does_work: ClassVar[bool] = False

    def all(self, aws: Aws) -> Iterable[ServiceResource]:
        """Everything of this kind in the region."""
        raise NotImplementedError

    def things(self, aws: Aws, stacks: Stacks) -> Iterable[ServiceResource]:
        """Everything that may belong to one of these stacks."""
        return self.all(aws)

    def look(self, aws: Aws, leftover: Leftover) -> ServiceResource | None:
        """The thing as it is now, or None once it is gone."""
        return next((thing for thing in self.all(aws) if thing.id == leftover.id), None)

    def busy(self, thing: ServiceResource) -> str:
        """Why requesting its deletion would fail now."""
        return ""

    def delete(self, aws: Aws, thing: ServiceResource) -> None:
        raise NotImplementedError

    def contents(self, aws: Aws, thing: ServiceResource) -> str:
        """How much is in it, as "holds 3 objects (1.0 MiB)"; empty where that is nothing."""
        return ""

    def emptied(self, thing: ServiceResource) -> bool:
        """Whether what is in it goes with it."""
        return True

    def holders(self, aws: Aws, thing: ServiceResource) -> str:
        """What blocks its deletion, where that is known."""
        return ""


def thing_of(raw: Mapping[str, Any], id: str, **more: Any) -> ServiceResource:
    """A resource with the fields that most services have in common."""
    tags = plain(raw.get("Tags") or raw.get("tags") or ())
    vpc = str(raw.get("VpcId") or raw.get("vpcId") or "")
    return ServiceResource(
        **{
            "id": id,
            "tags": tags,
            "name": tags.get("Name", ""),
            "vpc": vpc,
            "since": created_at(raw),
            "raw": raw,
            **more,
        }
    )


def attempt(aws: Aws, service: str, operation: str, **arguments: Any) -> None:
    """A call on the way to a deletion, about something that may be gone already."""
    try:
        aws.call(service, operation, **arguments)
    except Refused as refusal:
        if not refusal.not_found:
            raise
