"""Load balancers of both generations and target groups, mostly created by a cluster."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, ClassVar

from playrunner.aws.client import Aws
from playrunner.aws.tags import plain
from playrunner.cloud import prices
from playrunner.leftovers.aws.kind import Kind, thing_of
from playrunner.leftovers.aws.listed import listed
from playrunner.leftovers.leftover import ServiceResource, created_at

AT_ONCE = 20  # as many as one call tells the tags of


class LoadBalancer(Kind):
    """An application, network or gateway load balancer."""

    name, service, arn = "load balancer", "elbv2", "elasticloadbalancing:loadbalancer"
    does_work = True

    def all(self, aws: Aws) -> Iterable[ServiceResource]:
        balancers = listed(aws, "elbv2", "describe_load_balancers", "LoadBalancers")
        tags = _tags(aws, [raw["LoadBalancerArn"] for raw in balancers])
        for raw in balancers:
            hour = prices.LOAD_BALANCER_HOUR.get(str(raw.get("Type")))
            yield thing_of(
                raw,
                raw["LoadBalancerArn"],
                name=raw["LoadBalancerName"],
                tags=tags[raw["LoadBalancerArn"]],
                monthly_dollars=None if hour is None else hour * prices.HOURS,
            )

    def delete(self, aws: Aws, thing: ServiceResource) -> None:
        aws.call("elbv2", "delete_load_balancer", LoadBalancerArn=thing.id)


class ClassicLoadBalancer(Kind):
    """A load balancer of the first generation, as a cluster makes it without a controller of its
    own."""

    name, service, arn = "classic load balancer", "elb", "elasticloadbalancing:loadbalancer"
    does_work = True

    def all(self, aws: Aws) -> Iterable[ServiceResource]:
        balancers = listed(aws, "elb", "describe_load_balancers", "LoadBalancerDescriptions")
        names = [str(raw["LoadBalancerName"]) for raw in balancers]
        tags: dict[str, dict[str, str]] = {name: {} for name in names}
        for some in _in_parts(names):
            for described in listed(
                aws, "elb", "describe_tags", "TagDescriptions", LoadBalancerNames=some
            ):
                tags[described["LoadBalancerName"]] = plain(described["Tags"])
        for raw in balancers:
            name = str(raw["LoadBalancerName"])
            yield ServiceResource(
                name,
                tags[name],
                name,
                str(raw.get("VPCId") or ""),
                since=created_at(raw),
                raw=raw,
                monthly_dollars=prices.LOAD_BALANCER_HOUR["classic"] * prices.HOURS,
            )

    def delete(self, aws: Aws, thing: ServiceResource) -> None:
        aws.call("elb", "delete_load_balancer", LoadBalancerName=thing.id)


class TargetGroup(Kind):
    """Where a load balancer sends what it gets; it outlives it."""

    name, service, arn = "target group", "elbv2", "elasticloadbalancing:targetgroup"
    after: ClassVar[tuple[str, ...]] = ("load balancer",)

    def all(self, aws: Aws) -> Iterable[ServiceResource]:
        balancers = listed(aws, "elbv2", "describe_target_groups", "TargetGroups")
        tags = _tags(aws, [raw["TargetGroupArn"] for raw in balancers])
        for raw in balancers:
            yield thing_of(
                raw,
                raw["TargetGroupArn"],
                name=raw["TargetGroupName"],
                tags=tags[raw["TargetGroupArn"]],
            )

    def delete(self, aws: Aws, thing: ServiceResource) -> None:
        aws.call("elbv2", "delete_target_group", TargetGroupArn=thing.id)


def _tags(aws: Aws, arns: Sequence[str]) -> dict[str, dict[str, str]]:
    tags: dict[str, dict[str, str]] = {arn: {} for arn in arns}
    for some in _in_parts(arns):
        for one in listed(
            aws, "elbv2", "describe_tags", "TagDescriptions", missing=_GONE, ResourceArns=some
        ):
            tags[one["ResourceArn"]] = plain(one["Tags"])
    return tags


_GONE = (
    "LoadBalancerNotFound",
    "TargetGroupNotFound",
)  # one went between the two reads; the next look tells


def _in_parts(names: Sequence[Any]) -> Iterable[list[Any]]:
    for start in range(0, len(names), AT_ONCE):
        yield list(names[start : start + AT_ONCE])


KINDS: tuple[type[Kind], ...] = (LoadBalancer, ClassicLoadBalancer, TargetGroup)
