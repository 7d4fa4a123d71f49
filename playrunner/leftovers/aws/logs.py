"""CloudWatch log groups, among them those that EKS makes for a cluster and leaves behind."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any, ClassVar

from playrunner.aws.client import Aws
from playrunner.cloud import prices
from playrunner.leftovers.aws.kind import Kind, thing_of
from playrunner.leftovers.aws.listed import listed
from playrunner.leftovers.aws.stacks import Stacks
from playrunner.leftovers.leftover import Leftover, ServiceResource

MADE_FOR_CLUSTERS = ("/aws/eks/{}/", "/aws/containerinsights/{}/")


class LogGroup(Kind):
    """A log group; EKS creates its own again as long as the cluster exists."""

    name, service, arn = "log group", "logs", "logs:log-group"
    after: ClassVar[tuple[str, ...]] = ("EKS cluster",)

    def things(self, aws: Aws, stacks: Stacks) -> Iterable[ServiceResource]:
        for arn in stacks.marked_arns(self.arn):
            name = arn.split(":", 6)[6].removesuffix(":*")
            for raw in _groups(aws, name):
                if raw["logGroupName"] == name:
                    yield replace(_thing(raw), tags=stacks.marked[arn])
        for cluster in stacks.our_kubernetes():
            for prefix in MADE_FOR_CLUSTERS:
                for raw in _groups(aws, prefix.format(cluster)):
                    if not _is_marked(raw, stacks):
                        yield replace(
                            _thing(raw),
                            stack=stacks.stack_of(cluster),
                            sign=f"made for cluster {cluster}",
                        )

    def look(self, aws: Aws, leftover: Leftover) -> ServiceResource | None:
        return next(
            (
                _thing(raw)
                for raw in _groups(aws, leftover.id)
                if raw["logGroupName"] == leftover.id
            ),
            None,
        )

    def delete(self, aws: Aws, thing: ServiceResource) -> None:
        aws.call("logs", "delete_log_group", logGroupName=thing.id)


def _groups(aws: Aws, prefix: str) -> list[dict[str, Any]]:
    return listed(aws, "logs", "describe_log_groups", "logGroups", logGroupNamePrefix=prefix)


def _is_marked(raw: dict[str, Any], stacks: Stacks) -> bool:
    return any(
        str(raw.get("arn", "")).removesuffix(":*") == arn.removesuffix(":*")
        for arn in stacks.marked
    )


def _thing(raw: dict[str, Any]) -> ServiceResource:
    return thing_of(
        raw,
        raw["logGroupName"],
        name=raw["logGroupName"],
        monthly_dollars=prices.LOG_GIB * float(raw.get("storedBytes") or 0) / prices.GIB,
    )


KINDS: tuple[type[Kind], ...] = (LogGroup,)
