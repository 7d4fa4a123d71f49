"""Buckets and repositories tagged as ours; what they hold goes with them."""

from __future__ import annotations

from collections.abc import Iterable
from urllib.parse import quote

from playrunner.cloud.resource import Refused
from playrunner.gcp.client import Gcp
from playrunner.leftovers.gcp.kind import GcpKind
from playrunner.leftovers.gcp.stacks import GcpStacks
from playrunner.leftovers.leftover import ServiceResource


class Bucket(GcpKind):
    """A bucket. Its size is not told cheaply, so it is not priced."""

    name, service = "bucket", "storage"
    gone_seconds = 1800  # a training run's checkpoints are many objects

    def things(self, gcp: Gcp, stacks: GcpStacks) -> Iterable[ServiceResource]:
        for raw in gcp.listing("storage", "b", "items", project=gcp.project):
            yield self.thing(raw, f"b/{raw['name']}", monthly_dollars=None)

    def delete(self, gcp: Gcp, thing: ServiceResource) -> None:
        for blob in gcp.listing("storage", f"{thing.id}/o", "items", versions="true"):
            try:
                gcp.call(
                    "DELETE",
                    "storage",
                    f"{thing.id}/o/{quote(blob['name'], safe='')}",
                    generation=blob["generation"],
                )
            except Refused as refusal:
                if not refusal.not_found:
                    raise
        super().delete(gcp, thing)


class Repository(GcpKind):
    name, service = "artifact repository", "artifactregistry"

    def things(self, gcp: Gcp, stacks: GcpStacks) -> Iterable[ServiceResource]:
        for raw in gcp.listing(
            "artifactregistry",
            f"projects/{gcp.project}/locations/{gcp.region}/repositories",
            "repositories",
        ):
            yield self.thing(raw, str(raw["name"]), monthly_dollars=None)


KINDS: tuple[type[GcpKind], ...] = (Bucket, Repository)
