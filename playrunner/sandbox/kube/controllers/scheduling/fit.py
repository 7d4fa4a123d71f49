"""What a pod asks of a node, and why a node does not do, in the scheduler's own words."""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal
from typing import Any

from playrunner.sandbox.kube.controllers.framework.resources import Object, labels_of
from playrunner.sandbox.kube.schema.quantities import value_of
from playrunner.sandbox.kube.wire.selectors import by_selector

Amounts = dict[str, Decimal]
HOSTNAME = "kubernetes.io/hostname"
CORDONED = {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}


def requests_of(pod: Object) -> Amounts:
    """The resources it holds while it runs: of all containers together, or of the greediest init
    container."""
    together: Amounts = {}
    for container in pod["spec"].get("containers") or ():
        for name, amount in _requests(container).items():
            together[name] = together.get(name, Decimal(0)) + amount
    for container in pod["spec"].get("initContainers") or ():
        for name, amount in _requests(container).items():
            together[name] = max(together.get(name, Decimal(0)), amount)
    return {name: amount for name, amount in together.items() if amount} | {"pods": Decimal(1)}


def _requests(container: Object) -> Amounts:
    resources = container.get("resources") or {}
    wanted = {**(resources.get("limits") or {}), **(resources.get("requests") or {})}
    return {name: value_of(amount) for name, amount in wanted.items()}


def refusals(pod: Object, node: Object, free: Amounts, there: Iterable[Object]) -> list[str]:
    """Why this node does not do for the pod; `there` are the pods that it has already, `free` is
    what they leave."""
    spec, node_spec = pod["spec"], node.get("spec") or {}
    if node_spec.get("unschedulable") and not tolerates(spec, CORDONED):
        return ["node(s) were unschedulable"]
    for taint in node_spec.get("taints") or ():
        if taint["effect"] in ("NoSchedule", "NoExecute") and not tolerates(spec, taint):
            return [f"node(s) had untolerated taint {{{taint['key']}: {taint.get('value', '')}}}"]
    if not matches_affinity(spec, node):
        return ["node(s) didn't match Pod's node affinity/selector"]
    short = [
        name for name, amount in requests_of(pod).items() if free.get(name, Decimal(0)) < amount
    ]
    if short:
        return ["Too many pods" if name == "pods" else f"Insufficient {name}" for name in short]
    if any(_repels(pod, other, node) or _repels(other, pod, node) for other in there):
        return ["node(s) didn't match pod anti-affinity rules"]
    return []


def tolerates(spec: Object, taint: Object) -> bool:
    for one in spec.get("tolerations") or ():
        same_key = not one.get("key") or one["key"] == taint["key"]
        same_effect = not one.get("effect") or one["effect"] == taint["effect"]
        same_value = one.get("operator") == "Exists" or one.get("value", "") == taint.get(
            "value", ""
        )
        if same_key and same_effect and same_value:
            return True
    return False


def matches_affinity(spec: Object, node: Object) -> bool:
    """Its node selector, and the node affinity that it requires."""
    labels = labels_of(node)
    if any(labels.get(name) != value for name, value in (spec.get("nodeSelector") or {}).items()):
        return False
    affinity = (spec.get("affinity") or {}).get("nodeAffinity") or {}
    required = affinity.get("requiredDuringSchedulingIgnoredDuringExecution")
    return required is None or any(
        _term_holds(term, node) for term in required.get("nodeSelectorTerms") or ()
    )


def _term_holds(term: Object, node: Object) -> bool:
    labels, fields = labels_of(node), {"metadata.name": node["metadata"]["name"]}
    expressions, by_field = term.get("matchExpressions") or (), term.get("matchFields") or ()
    if not expressions and not by_field:
        return False
    return all(_holds(one, labels) for one in expressions) and all(
        _holds(one, fields) for one in by_field
    )


def _holds(expression: Object, labels: dict[str, str]) -> bool:
    operator, values = expression["operator"], expression.get("values") or []
    value = labels.get(expression["key"])
    if operator in ("Gt", "Lt"):
        if value is None or not value.lstrip("-").isdigit():
            return False
        return int(value) > int(values[0]) if operator == "Gt" else int(value) < int(values[0])
    answers: dict[str, Any] = {
        "In": value in values,
        "NotIn": value not in values,
        "Exists": value is not None,
        "DoesNotExist": value is None,
    }
    return bool(answers.get(operator, False))


def volume_fits(volume: Object, node: Object) -> bool:
    """A volume that is only in some places."""
    required = ((volume.get("spec") or {}).get("nodeAffinity") or {}).get("required")
    return required is None or any(
        _term_holds(term, node) for term in required.get("nodeSelectorTerms") or ()
    )


def _repels(pod: Object, other: Object, node: Object) -> bool:
    """Whether `pod` does not want `other` beside it on a node; wider places than a node are not
    looked at."""
    affinity = (pod["spec"].get("affinity") or {}).get("podAntiAffinity") or {}
    for term in affinity.get("requiredDuringSchedulingIgnoredDuringExecution") or ():
        namespaces = term.get("namespaces") or [pod["metadata"]["namespace"]]
        same = other["metadata"]["namespace"] in namespaces and by_selector(
            term.get("labelSelector")
        )(other)
        if same and term.get("topologyKey") == HOSTNAME:
            return True
    return False


def unschedulable_message(counts: dict[str, int], nodes: int) -> str:
    """The sentence in which the scheduler says why a pod has no node."""
    if not nodes:
        return "no nodes available to schedule pods"
    reasons = sorted(f"{count} {reason}" for reason, count in counts.items())
    return f"0/{nodes} nodes are available: {', '.join(reasons)}."
