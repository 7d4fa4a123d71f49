"""GcpKind: what the sweep must know of one kind of thing in Google Cloud: how to list it, how to
remove it, what goes first."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar

from playrunner.gcp import marks
from playrunner.gcp.client import Gcp
from playrunner.leftovers.gcp.stacks import GcpStacks
from playrunner.leftovers.leftover import Leftover, ServiceResource


class GcpKind:
    """One kind of thing. Listing is read-only; `delete` asks once and does not wait. A thing's id
    is its path."""

    name: ClassVar[str]
    service: ClassVar[str]
    after: ClassVar[tuple[str, ...]] = ()  # kinds of the same stack that must be gone before
    gone_seconds: ClassVar[float] = 300  # how long it may take to be gone once it can go

    def things(self, gcp: Gcp, stacks: GcpStacks) -> Iterable[ServiceResource]:
        """Everything that may belong to one of these stacks."""
        raise NotImplementedError

    def look(self, gcp: Gcp, leftover: Leftover) -> ServiceResource | None:
        """The thing as it is now, or None once it is gone."""
        found = gcp.read(self.service, leftover.id)
        return None if found is None else self.thing(found, leftover.id)

    def thing(self, raw: Mapping[str, Any], path: str, **more: Any) -> ServiceResource:
        tags = marks.tags(raw.get("labels") or raw.get("resourceLabels"))
        since = str(
            raw.get("creationTimestamp") or raw.get("createTime") or raw.get("timeCreated") or ""
        )
        name = str(raw["name"]).rpartition("/")[2]
        return ServiceResource(
            **{"id": path, "name": name, "tags": tags, "since": since, "raw": raw, **more}
        )

    def busy(self, thing: ServiceResource) -> str:
        """Why requesting its deletion would fail now."""
        return ""

    def delete(self, gcp: Gcp, thing: ServiceResource) -> None:
        gcp.call("DELETE", self.service, thing.id)

    def holders(self, gcp: Gcp, thing: ServiceResource) -> str:
        """What blocks its deletion, where that is known."""
        return ", ".join(str(user).rpartition("/")[2] for user in thing.raw.get("users") or ())


def path_of(raw: Mapping[str, Any]) -> str:
    """projects/... of a thing's own address."""
    return "projects/" + str(raw["selfLink"]).partition("/projects/")[2]


def place_of(path: str) -> str:
    """The zone or region of a path; empty for what is in none."""
    words = path.split("/")
    return next(
        (
            words[at + 1]
            for at, word in enumerate(words[:-1])
            if word in ("zones", "regions", "locations")
        ),
        "",
    )
