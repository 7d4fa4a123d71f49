"""Resource quotas: what a namespace may have, counted when something is made in it."""

from __future__ import annotations

from decimal import Decimal

from playrunner.sandbox.kube.schema.kinds import Kind
from playrunner.sandbox.kube.schema.problems import forbidden
from playrunner.sandbox.kube.schema.quantities import canonical, value_of
from playrunner.sandbox.kube.store.cluster import Cluster
from playrunner.sandbox.kube.store.store import Object

_COUNTED = (
    "pods",
    "services",
    "secrets",
    "configmaps",
    "persistentvolumeclaims",
    "replicationcontrollers",
    "resourcequotas",
)


def require_quota(cluster: Cluster, kind: Kind, obj: Object) -> None:
    """Refused when this would be more than one of the namespace's quotas allows."""
    namespace = obj["metadata"].get("namespace", "")
    for quota in cluster.store.list(("", "resourcequotas"), namespace)[0]:
        hard = quota.get("spec", {}).get("hard") or {}
        wanted = {name: amount for name, amount in _usage(kind, obj).items() if name in hard}
        if not wanted:
            continue
        there = [_usage(kind, other) for other in cluster.store.list(kind.stored_as, namespace)[0]]
        used = {
            name: sum((each.get(name, Decimal(0)) for each in there), Decimal(0)) for name in wanted
        }
        over = sorted(name for name in wanted if used[name] + wanted[name] > value_of(hard[name]))
        if over:
            amounts = [
                ", ".join(f"{name}={_spelled(usage[name])}" for name in over)
                for usage in (wanted, used)
            ]
            limited = ", ".join(f"{name}={hard[name]}" for name in over)
            why = (
                f"exceeded quota: {quota['metadata']['name']}, requested: {amounts[0]}, used:"
                f" {amounts[1]}, limited: {limited}"
            )
            raise forbidden(kind, obj["metadata"]["name"], why)


def _usage(kind: Kind, obj: Object) -> dict[str, Decimal]:
    """What one object counts for; a pod that has ended counts for nothing."""
    usage = {f"count/{kind.qualified}": Decimal(1)}
    if kind.plural in _COUNTED and not kind.group:
        usage[kind.plural] = Decimal(1)
    if kind.type_name == "core.v1.PersistentVolumeClaim":
        usage["requests.storage"] = value_of(
            obj["spec"].get("resources", {}).get("requests", {}).get("storage", "0")
        )
    if kind.type_name == "core.v1.Pod":
        if obj.get("status", {}).get("phase") in ("Succeeded", "Failed"):
            return {}
        for container in obj["spec"].get("containers", ()):
            for field in ("requests", "limits"):
                for name, amount in ((container.get("resources") or {}).get(field) or {}).items():
                    for spelled in (f"{field}.{name}", *((name,) if field == "requests" else ())):
                        usage[spelled] = usage.get(spelled, Decimal(0)) + value_of(amount)
    return usage


def _spelled(amount: Decimal) -> str:
    return canonical(format(amount, "f"))
