"""Whether the cluster's policies admit a write."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from playrunner.sandbox.kube.schema.kinds import Kind
from playrunner.sandbox.kube.schema.problems import Refusal, forbidden
from playrunner.sandbox.kube.store.cluster import Cluster
from playrunner.sandbox.kube.store.policies.expressions import NAMES, compiled
from playrunner.sandbox.kube.store.policies.values import Failed
from playrunner.sandbox.kube.store.store import Object
from playrunner.sandbox.kube.store.webhooks import GROUP, concerns, review_request
from playrunner.sandbox.kube.store.write_options import WriteOptions

_EVERYTHING = [
    {"operations": ["*"], "apiGroups": ["*"], "apiVersions": ["*"], "resources": ["*/*", "*"]}
]
Change = tuple[Object | None, Object | None]  # the object after and before it
_CODES = {"Unauthorized": 401, "Forbidden": 403, "RequestEntityTooLarge": 413, "Invalid": 422}


def require_policies(
    cluster: Cluster, kind: Kind, obj: Object | None, before: Object | None, options: WriteOptions
) -> None:
    """Refused by the first policy that is bound here to refuse it; others only warn."""
    refusals = []
    for policy, binding in _bound(cluster, kind, (obj, before), options):
        prefix = (
            f"ValidatingAdmissionPolicy '{policy['metadata']['name']}' with binding"
            f" '{binding['metadata']['name']}'"
        )
        scope = _scope(cluster, kind, policy, obj, before, options)
        for why, reason in _failures(policy, scope):
            if "Warn" in binding["spec"]["validationActions"]:
                what = prefix.removeprefix("ValidatingAdmissionPolicy ")
                options.warnings.append(
                    f"Validation failed for ValidatingAdmissionPolicy {what}: {why}"
                )
            if "Deny" in binding["spec"]["validationActions"]:
                refusals.append((f"{prefix} denied request: {why}", reason))
    if refusals:
        why, reason = refusals[0]
        subject = obj if obj is not None else before
        name = (subject or {"metadata": {}})["metadata"].get("name", "")
        refusal = forbidden(kind, name, why, [{"message": why}])
        raise Refusal(_CODES.get(reason, 422), reason, refusal.message, refusal.details)


def _bound(
    cluster: Cluster, kind: Kind, change: Change, options: WriteOptions
) -> Iterator[tuple[Object, Object]]:
    """Each policy that is about this write, with each binding that is."""
    if kind.group == GROUP:
        return
    for binding in cluster.store.list((GROUP, "validatingadmissionpolicybindings"))[0]:
        place = ("", binding["spec"].get("policyName", ""))
        policy = cluster.store.get((GROUP, "validatingadmissionpolicies"), place)
        if policy is None:
            continue
        if _chosen(cluster, policy["spec"].get("matchConstraints"), kind, change, options) and (
            _chosen(cluster, binding["spec"].get("matchResources"), kind, change, options)
        ):
            yield policy, binding


def _chosen(
    cluster: Cluster, match: Object | None, kind: Kind, change: Change, options: WriteOptions
) -> bool:
    """By rules for resources, and for those that are left out; without any, everything is."""
    match = match or {}
    rules = match.get("resourceRules") or _EVERYTHING
    left_out = match.get("excludeResourceRules") or ()
    return concerns(cluster, match, rules, kind, change, options.subresource) and not concerns(
        cluster, match, left_out, kind, change, options.subresource
    )


def _scope(
    cluster: Cluster,
    kind: Kind,
    policy: Object,
    obj: Object | None,
    before: Object | None,
    options: WriteOptions,
) -> dict[str, Any]:
    request = review_request(kind, obj, before, options)
    namespace = cluster.store.get(("", "namespaces"), ("", request.get("namespace", "")))
    scope: dict[str, Any] = {
        "object": obj,
        "oldObject": before,
        "request": {name: value for name, value in request.items() if value is not None},
        "namespaceObject": namespace,
        "params": None,
    }
    scope["variables"] = _Variables(policy["spec"].get("variables") or (), scope)
    return scope


class _Variables(dict[str, Any]):
    """Variables of a policy, each evaluated when it is first used."""

    def __init__(self, declared: Any, scope: dict[str, Any]) -> None:
        super().__init__({one["name"]: None for one in declared})
        self.expressions = {one["name"]: compiled(one["expression"], NAMES) for one in declared}
        self.scope = scope

    def __getitem__(self, name: str) -> Any:
        if name in self.expressions:
            self[name] = self.expressions.pop(name)(self.scope)
        return super().__getitem__(name)


def _failures(policy: Object, scope: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """What each validation that does not hold says, and its reason."""
    spec = policy["spec"]
    ignores = spec.get("failurePolicy") == "Ignore"
    try:
        conditions = [one["expression"] for one in spec.get("matchConditions") or ()]
        if not all(_evaluated(one, scope) is True for one in conditions):
            return
    except Failed as error:
        if not ignores:
            yield str(error), "Invalid"
        return
    for validation in spec.get("validations") or ():
        try:
            if _evaluated(validation["expression"], scope) is not True:
                yield _message(validation, scope), validation.get("reason") or "Invalid"
        except Failed as error:
            if not ignores:
                yield str(error), "Invalid"


def _evaluated(expression: str, scope: dict[str, Any]) -> Any:
    try:
        return compiled(expression, NAMES)(scope)
    except Failed as error:
        raise Failed(f"expression '{expression}' resulted in error: {error}") from None


def _message(validation: Object, scope: dict[str, Any]) -> str:
    computed = ""
    if validation.get("messageExpression"):
        try:
            computed = _evaluated(validation["messageExpression"], scope)
        except Failed:
            computed = ""
    if isinstance(computed, str) and computed.strip() and "\n" not in computed.strip():
        return computed.strip()
    return (validation.get("message") or "").strip() or (
        f"failed expression: {validation['expression'].strip()}"
    )
