"""EKS: clusters and their nodegroups, and what we put into clusters that are not ours."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar

from playrunner.aws.client import Aws
from playrunner.cloud import prices
from playrunner.leftovers.aws.kind import Kind, thing_of
from playrunner.leftovers.aws.listed import listed
from playrunner.leftovers.aws.stacks import Stacks, described_cluster
from playrunner.leftovers.leftover import Leftover, ServiceResource

_GONE = ("ResourceNotFoundException",)


class EksCluster(Kind):
    """A control plane, billed by the hour; its add-ons, access entries and pod identities go with
    it."""

    name, service, arn = "EKS cluster", "eks", "eks:cluster"
    after: ClassVar[tuple[str, ...]] = ("nodegroup", "load balancer", "classic load balancer")
    gone_seconds = 1800
    holds_user_data = True

    def things(self, aws: Aws, stacks: Stacks) -> Iterable[ServiceResource]:
        return [_cluster(raw) for raw in stacks.kubernetes.values()]

    def look(self, aws: Aws, leftover: Leftover) -> ServiceResource | None:
        raw = described_cluster(aws, leftover.id)
        return None if raw is None else _cluster(raw)

    def delete(self, aws: Aws, thing: ServiceResource) -> None:
        aws.call("eks", "delete_cluster", name=thing.id)


def _cluster(raw: Mapping[str, Any]) -> ServiceResource:
    return thing_of(
        raw,
        raw["name"],
        name=raw["name"],
        vpc=str(raw["resourcesVpcConfig"].get("vpcId") or ""),
        monthly_dollars=prices.EKS_CONTROL_PLANE_HOUR * prices.HOURS,
        deleting=raw["status"] == "DELETING",
        state=_trouble(raw),
    )


class Nodegroup(Kind):
    """The machines of a cluster; each is listed, and priced, as an instance."""

    name, service, arn = "nodegroup", "eks", "eks:nodegroup"
    gone_seconds = 1800

    def things(self, aws: Aws, stacks: Stacks) -> Iterable[ServiceResource]:
        marked = {_parts(arn) for arn in stacks.marked_arns(self.arn)}
        for cluster in stacks.kubernetes:
            stack = stacks.stack_of(cluster)
            names = {name for owner, name in marked if owner == cluster}
            if stack:
                names |= set(
                    listed(
                        aws,
                        "eks",
                        "list_nodegroups",
                        "nodegroups",
                        missing=_GONE,
                        clusterName=cluster,
                    )
                )
            for name in sorted(names):
                thing = self._described(aws, cluster, name, stack)
                if thing is not None:
                    yield thing

    def look(self, aws: Aws, leftover: Leftover) -> ServiceResource | None:
        return self._described(aws, leftover.within, leftover.id, leftover.cluster)

    def _described(self, aws: Aws, cluster: str, name: str, stack: str) -> ServiceResource | None:
        answer = aws.read(
            "eks", "describe_nodegroup", missing=_GONE, clusterName=cluster, nodegroupName=name
        )
        if answer is None:
            return None
        raw = answer["nodegroup"]
        return thing_of(
            raw,
            name,
            name=f"{cluster}/{name}",
            within=cluster,
            deleting=raw["status"] == "DELETING",
            state=_trouble(raw),
            stack=stack,
            sign=f"of our cluster {cluster}" if stack else "",
        )

    def delete(self, aws: Aws, thing: ServiceResource) -> None:
        aws.call("eks", "delete_nodegroup", clusterName=thing.within, nodegroupName=thing.id)


class Addon(Kind):
    """An add-on of ours in a cluster that is not."""

    name, service, arn = "EKS add-on", "eks", "eks:addon"
    after: ClassVar[tuple[str, ...]] = ("nodegroup",)

    def things(self, aws: Aws, stacks: Stacks) -> Iterable[ServiceResource]:
        for cluster, name in _guests(stacks, self.arn):
            thing = self._described(aws, cluster, name)
            if thing is not None:
                yield thing

    def look(self, aws: Aws, leftover: Leftover) -> ServiceResource | None:
        return self._described(aws, leftover.within, leftover.id)

    def _described(self, aws: Aws, cluster: str, name: str) -> ServiceResource | None:
        answer = aws.read(
            "eks", "describe_addon", missing=_GONE, clusterName=cluster, addonName=name
        )
        if answer is None:
            return None
        raw = answer["addon"]
        return thing_of(
            raw,
            name,
            name=f"{cluster}/{name}",
            within=cluster,
            deleting=raw["status"] == "DELETING",
            state=_trouble(raw),
        )

    def delete(self, aws: Aws, thing: ServiceResource) -> None:
        aws.call("eks", "delete_addon", clusterName=thing.within, addonName=thing.id)


class AccessEntry(Kind):
    """An access entry of ours in a cluster that is not ours."""

    name, service, arn = "EKS access entry", "eks", "eks:access-entry"

    def things(self, aws: Aws, stacks: Stacks) -> Iterable[ServiceResource]:
        for cluster in sorted({cluster for cluster, _ in _guests(stacks, self.arn)}):
            for principal in listed(
                aws,
                "eks",
                "list_access_entries",
                "accessEntries",
                missing=_GONE,
                clusterName=cluster,
            ):
                thing = self._described(aws, cluster, principal)
                if thing is not None:
                    yield thing

    def look(self, aws: Aws, leftover: Leftover) -> ServiceResource | None:
        return self._described(aws, leftover.within, leftover.id)

    def _described(self, aws: Aws, cluster: str, principal: str) -> ServiceResource | None:
        answer = aws.read(
            "eks",
            "describe_access_entry",
            missing=_GONE,
            clusterName=cluster,
            principalArn=principal,
        )
        return (
            None
            if answer is None
            else thing_of(answer["accessEntry"], principal, name=cluster, within=cluster)
        )

    def delete(self, aws: Aws, thing: ServiceResource) -> None:
        aws.call("eks", "delete_access_entry", clusterName=thing.within, principalArn=thing.id)


class PodIdentity(Kind):
    """A role that we gave to pods of a cluster that is not ours."""

    name, service, arn = "EKS pod identity", "eks", "eks:podidentityassociation"

    def things(self, aws: Aws, stacks: Stacks) -> Iterable[ServiceResource]:
        for cluster, number in _guests(stacks, self.arn):
            thing = self._described(aws, cluster, number)
            if thing is not None:
                yield thing

    def look(self, aws: Aws, leftover: Leftover) -> ServiceResource | None:
        return self._described(aws, leftover.within, leftover.id)

    def _described(self, aws: Aws, cluster: str, number: str) -> ServiceResource | None:
        answer = aws.read(
            "eks",
            "describe_pod_identity_association",
            missing=_GONE,
            clusterName=cluster,
            associationId=number,
        )
        if answer is None:
            return None
        raw = answer["association"]
        name = f"{cluster}/{raw['namespace']}/{raw['serviceAccount']}"
        return thing_of(raw, number, name=name, within=cluster)

    def delete(self, aws: Aws, thing: ServiceResource) -> None:
        aws.call(
            "eks",
            "delete_pod_identity_association",
            clusterName=thing.within,
            associationId=thing.id,
        )


def _guests(stacks: Stacks, kind: str) -> list[tuple[str, str]]:
    """What is tagged as ours in clusters of others; in our own it is deleted with the cluster."""
    found = {_parts(arn) for arn in stacks.marked_arns(kind)}
    return sorted(
        (cluster, name)
        for cluster, name in found
        if cluster in stacks.kubernetes and not stacks.stack_of(cluster)
    )


def _parts(arn: str) -> tuple[str, str]:
    """Cluster and name in the ARN of a part of a cluster."""
    return arn.split("/")[1], arn.split("/")[2]


def _trouble(raw: Mapping[str, Any]) -> str:
    issues = (raw.get("health") or {}).get("issues") or ()
    return "; ".join(f"{one.get('code')}: {one.get('message')}" for one in issues)


KINDS: tuple[type[Kind], ...] = (EksCluster, Nodegroup, Addon, AccessEntry, PodIdentity)
