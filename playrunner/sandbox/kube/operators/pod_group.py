"""Pod groups: pods that are placed together or not at all."""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal
from typing import Any

from playrunner.sandbox.kube.controllers.framework.resources import Object, annotations_of, owned
from playrunner.sandbox.kube.controllers.scheduling.fit import Amounts, requests_of
from playrunner.sandbox.kube.operators.kinds import POD_GROUPS
from playrunner.sandbox.kube.schema.quantities import canonical, value_of

GROUP_NAME = "scheduling.k8s.io/group-name"  # the annotation by which a pod names its group
SCHEDULER_NAME = "volcano"


def pod_group(owner: Object, name: str, least: int, pods: Iterable[Object], **spec: Any) -> Object:
    """One for these pods, of which so many have to run at once; `spec` adds the queue and the like,
    where given."""
    return {
        "apiVersion": POD_GROUPS.api_version,
        "kind": POD_GROUPS.kind,
        "metadata": {
            "name": name,
            "namespace": owner["metadata"]["namespace"],
            "ownerReferences": owned(owner),
        },
        "spec": {
            "minMember": least,
            "minResources": written(total(list(pods)[:least])),
            **{field: value for field, value in spec.items() if value},
        },
    }


def group_of(pod: Object) -> str:
    return annotations_of(pod).get(GROUP_NAME, "")


def total(pods: Iterable[Object]) -> Amounts:
    """What they ask for together, besides being pods."""
    summed: Amounts = {}
    for pod in pods:
        for name, amount in requests_of(pod).items():
            if name != "pods":
                summed[name] = summed.get(name, Decimal(0)) + amount
    return summed


def read(written_amounts: Object | None) -> Amounts:
    return {name: value_of(amount) for name, amount in (written_amounts or {}).items()}


def added(*parts: Amounts) -> Amounts:
    names = {name for part in parts for name in part}
    return {name: sum((part.get(name, Decimal(0)) for part in parts), Decimal(0)) for name in names}


def written(amounts: Amounts) -> dict[str, str]:
    return {name: canonical(f"{amount:f}") for name, amount in sorted(amounts.items())}
