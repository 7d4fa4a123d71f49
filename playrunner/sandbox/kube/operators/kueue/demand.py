"""What all pods of a job ask for together, and whether its queue still has that."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from decimal import Decimal

from playrunner.sandbox.kube.controllers.framework.resources import Object
from playrunner.sandbox.kube.controllers.scheduling.fit import requests_of
from playrunner.sandbox.kube.schema.quantities import value_of

Amounts = Counter[str]
_NOT_COUNTED = ("ephemeral-storage", "hugepages-", "pods")


def pods_of(job: Object, runtime: Object | None = None) -> list[tuple[str, int, Object]]:
    """The name of each group of pods, how many there are, and their template."""
    spec, kind = job.get("spec") or {}, job.get("kind")
    if kind == "JobSet":
        return [
            (each["name"], int(each.get("replicas", 1)) * _pods(inner), inner["template"])
            for each in spec.get("replicatedJobs") or ()
            if (inner := each["template"]["spec"])
        ]
    if kind == "PyTorchJob":
        return [
            (role.lower(), int(each.get("replicas", 1)), each["template"])
            for role, each in (spec.get("pytorchReplicaSpecs") or {}).items()
        ]
    if kind == "TrainJob":
        inside = ((runtime or {}).get("spec") or {}).get("template") or {}
        made = {"kind": "JobSet", "spec": inside.get("spec") or {}}
        nodes = (spec.get("trainer") or {}).get("numNodes")
        return [(name, int(nodes or count), pod) for name, count, pod in pods_of(made)]
    return [("main", _pods(spec), spec["template"])]


def _pods(job: Object) -> int:
    return int(job.get("parallelism", 1))


def asked_by(groups: Iterable[tuple[str, int, Object]]) -> Amounts:
    total: Amounts = Counter()
    for _, count, template in groups:
        for name, amount in requests_of({"spec": template["spec"]}).items():
            if not name.startswith(_NOT_COUNTED):
                total[name] += amount * count  # type: ignore[assignment]
    return total


def given_by(queue: Object) -> dict[str, Decimal]:
    """What a ClusterQueue may give in all."""
    quotas: dict[str, Decimal] = {}
    for group in queue["spec"].get("resourceGroups") or ():
        for flavor in group.get("flavors") or ():
            for resource in flavor.get("resources") or ():
                amount = value_of(resource["nominalQuota"])
                quotas[resource["name"]] = quotas.get(resource["name"], Decimal(0)) + amount
    return quotas


def why_not(asked: Amounts, held: Amounts, queue: Object, group: str) -> str:
    """Why there is no room; nothing where there is."""
    given = given_by(queue)
    for name, amount in sorted(asked.items()):
        if name not in given:
            return (
                f"couldn't assign flavors to pod set {group}: resource {name} unavailable in"
                " ClusterQueue"
            )
        left = given[name] - Decimal(held[name])
        if Decimal(amount) > left:
            word = "quota" if Decimal(amount) > given[name] else "unused quota"
            return (
                f"couldn't assign flavors to pod set {group}: insufficient {word} for {name},"
                f" {Decimal(amount) - left} more needed"
            )
    return ""
