"""Stacks: which clusters a search is about, and how a thing is known to be one's."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import field
from typing import Any

from playrunner.aws.client import Aws
from playrunner.aws.tags import plain
from playrunner.cloud.owner import CLUSTER
from playrunner.cloud.resource import Refused, Unanswered
from playrunner.frozen import frozen
from playrunner.leftovers.aws.listed import listed
from playrunner.leftovers.leftover import ServiceResource

KUBERNETES_TAG = "kubernetes.io/cluster/"  # + the cluster's name, with the value "owned"
CONTROLLER_TAG = "elbv2.k8s.aws/cluster"  # the load balancer controller's
NODE_TAGS = ("eks:cluster-name", "aws:eks:cluster-name", "cluster.k8s.amazonaws.com/name")


@frozen
class Claim:
    """Whose a thing is, and how that is known."""

    stack: str
    owned: bool
    why: str
    by_place: bool = False  # it is only inside our VPC


@frozen
class Stacks:
    """What is known of our stacks before their things are looked for."""

    wanted: str | None  # only this stack; None: every one that left a mark
    names: frozenset[str]  # of all stacks that left a mark, and the wanted one
    vpcs: Mapping[str, str]  # VPC id: stack
    kubernetes: Mapping[str, Mapping[str, Any]]  # every EKS cluster there is, by name
    marked: Mapping[str, Mapping[str, str]] = field(
        default_factory=dict
    )  # ARN: tags, from the tagging API
    blind: str = ""  # why the tagging API did not answer
    strangers: frozenset[str] = (
        frozenset()
    )  # Kubernetes clusters that others run on machines of their own
    known_as: frozenset[str] = (
        frozenset()
    )  # what the wanted stack's Kubernetes clusters were called, when not like it

    def claim(self, thing: ServiceResource) -> Claim | None:
        """Whose the thing is; None for what is no wanted stack's."""
        claim = self._claim(thing)
        return claim if claim and self.wanted in (None, claim.stack) else None

    def _claim(self, thing: ServiceResource) -> Claim | None:
        mark = thing.tags.get(CLUSTER)
        if mark:
            return Claim(mark, True, "tagged as ours")
        if thing.stack:
            return Claim(thing.stack, False, thing.sign)
        for name, tag in _kubernetes_owners(thing.tags):
            stack = self.stack_of(name)
            if stack:
                return Claim(stack, False, f"made by cluster {name} ({tag})")
        if thing.vpc in self.vpcs:
            return Claim(self.vpcs[thing.vpc], False, f"inside our {thing.vpc}", by_place=True)
        return None

    def stack_of(self, kubernetes: str) -> str:
        """The stack of a Kubernetes cluster: by the mark on it; by its name only when no other
        cluster has that name."""
        cluster = self.kubernetes.get(kubernetes)
        if cluster is not None:
            return str((cluster.get("tags") or {}).get(CLUSTER, ""))
        if kubernetes in self.strangers:
            return ""
        if kubernetes in self.known_as and self.wanted:
            return self.wanted
        return kubernetes if kubernetes in self.names else ""

    def our_kubernetes(self) -> list[str]:
        """Names of Kubernetes clusters that are, or were, a wanted stack's."""
        names = {*self.kubernetes, *self.names, *self.known_as}
        return sorted(
            name
            for name in names
            if (stack := self.stack_of(name)) and self.wanted in (None, stack)
        )

    def marked_arns(self, kind: str) -> list[str]:
        """The ARNs of one type with a wanted stack's mark, as the tagging API lists them; some may
        be gone already."""
        return [arn for arn in self.marked if arn_type(arn) == kind]


def arn_type(arn: str) -> str:
    """`ec2:vpc` of arn:aws:ec2:us-west-2:123456789012:vpc/vpc-1; ARNs of buckets have no type."""
    service, rest = arn.split(":")[2], arn.split(":", 5)[5]
    if service == "s3":
        return "s3:bucket"
    return f"{service}:{rest.replace(':', '/').partition('/')[0]}"


def _kubernetes_owners(tags: Mapping[str, str]) -> list[tuple[str, str]]:
    owners = [
        (key.removeprefix(KUBERNETES_TAG), f"{key}=owned")
        for key, value in tags.items()
        if key.startswith(KUBERNETES_TAG) and value == "owned"
    ]
    return owners + [
        (tags[key], f"{key}={tags[key]}") for key in (CONTROLLER_TAG, *NODE_TAGS) if key in tags
    ]


def read_stacks(aws: Aws, wanted: str | None, known_as: Iterable[str] = ()) -> Stacks:
    """Learn what there is; what cannot even be asked here ends the search."""
    marked, blind = _marked(aws, wanted)
    vpcs = {
        str(raw["VpcId"]): plain(raw.get("Tags")).get(CLUSTER, "")
        for raw in listed(aws, "ec2", "describe_vpcs", "Vpcs")
    }
    ours = {vpc: stack for vpc, stack in vpcs.items() if stack}
    kubernetes = {
        name: cluster
        for name in listed(aws, "eks", "list_clusters", "clusters")
        if (cluster := described_cluster(aws, name)) is not None
    }
    names = {
        stack
        for stack in (
            *ours.values(),
            *(tags.get(CLUSTER, "") for tags in marked.values()),
            wanted or "",
        )
        if stack
    }
    names |= {
        stack
        for cluster in kubernetes.values()
        if (stack := str((cluster.get("tags") or {}).get(CLUSTER, "")))
    }
    return Stacks(
        wanted,
        frozenset(names),
        ours,
        kubernetes,
        marked,
        blind,
        _strangers(aws, ours, kubernetes),
        frozenset(known_as),
    )


def _strangers(aws: Aws, vpcs: Mapping[str, str], kubernetes: Mapping[str, Any]) -> frozenset[str]:
    """Clusters of which EKS knows nothing and machines are up outside our VPCs: one may be called
    like a stack of ours."""
    machines = [
        raw
        for reservation in listed(aws, "ec2", "describe_instances", "Reservations")
        for raw in reservation["Instances"]
        if raw["State"]["Name"] != "terminated"
    ]
    tags = [plain(raw.get("Tags")) for raw in machines if raw.get("VpcId") not in vpcs]
    return frozenset(
        name
        for own_tags in tags
        if CLUSTER not in own_tags
        for name, _ in _kubernetes_owners(own_tags)
        if name not in kubernetes
    )


def described_cluster(aws: Aws, name: str) -> dict[str, Any] | None:
    answer = aws.read("eks", "describe_cluster", missing=("ResourceNotFoundException",), name=name)
    return None if answer is None else dict(answer["cluster"])


def _marked(aws: Aws, wanted: str | None) -> tuple[dict[str, dict[str, str]], str]:
    """What the tagging API lists; without the right to ask it, each service's own lists must do."""
    filters = [{"Key": CLUSTER, "Values": [wanted] if wanted else []}]
    try:
        mappings = listed(
            aws,
            "resourcegroupstaggingapi",
            "get_resources",
            "ResourceTagMappingList",
            TagFilters=filters,
        )
    except (Refused, Unanswered) as error:
        return {}, str(error)
    return {str(mapping["ResourceARN"]): plain(mapping["Tags"]) for mapping in mappings}, ""
