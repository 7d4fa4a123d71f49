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


def require_quota(cluster: Cluster, kind: Kind, one: Object) -> None:
    """Refused when this would be more than one of the namespace's quotas allows."""
    namespace = one["metadata"].get("namespace", "")
    for quota in cluster.store.list(("", "resourcequotas"), namespace)[0]:
        hard = quota.get("spec", {}).get("hard") or {}
        wanted = {name: amount for name, amount in _usage(kind, one).items() if name in hard}
        if not wanted:
            continue
        there = [_usage(kind, other) for other in cluster.store.list(kind.stored_as, namespace)[0]]
        used = {
            name: sum((each.get(name, Decimal(0)) for each in there), Decimal(0)) for name in wanted
        }
        over = sorted(name for name in wanted if used[name] + wanted[name] > value_of(hard[name]))
        if over:
            said = [
                ", ".join(f"{name}={_spelled(amounts[name])}" for name in over)
                for amounts in (wanted, used)
            ]
            limited = ", ".join(f"{name}={hard[name]}" for name in over)
            why = (
                f"exceeded quota: {quota['metadata']['name']}, requested: {said[0]}, used:"
                f" {said[1]}, limited: {limited}"
            )
            raise forbidden(kind, one["metadata"]["name"], why)


def _usage(kind: Kind, one: Object) -> dict[str, Decimal]:
    """What one object counts for; a pod that has ended counts for nothing."""
    found = {f"count/{kind.qualified}": Decimal(1)}
    if kind.plural in _COUNTED and not kind.group:
        found[kind.plural] = Decimal(1)
    if kind.type_name == "core.v1.PersistentVolumeClaim":
        found["requests.storage"] = value_of(
            one["spec"].get("resources", {}).get("requests", {}).get("storage", "0")
        )
    if kind.type_name == "core.v1.Pod":
        if one.get("status", {}).get("phase") in ("Succeeded", "Failed"):
            return {}
        for container in one["spec"].get("containers", ()):
            for field in ("requests", "limits"):
                for name, amount in ((container.get("resources") or {}).get(field) or {}).items():
                    for spelled in (f"{field}.{name}", *((name,) if field == "requests" else ())):
                        found[spelled] = found.get(spelled, Decimal(0)) + value_of(amount)
    return found


def _spelled(amount: Decimal) -> str:
    return canonical(format(amount, "f"))
