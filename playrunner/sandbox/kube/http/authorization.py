"""What a service account may do: those that a binding names are held to their roles, all other
clients of the sandbox are administrators."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from playrunner.sandbox.kube.http.routes import Route
from playrunner.sandbox.kube.schema.problems import Refusal
from playrunner.sandbox.kube.store.cluster import Cluster
from playrunner.sandbox.kube.store.store import Object
from playrunner.sandbox.kube.wire.messages import Request

GROUP, VERSION = "rbac.authorization.k8s.io", "v1"
_APPLIED = ("application/apply-patch+yaml", "application/apply-patch+cbor")
_REVIEWS = ("SelfSubjectAccessReview", "SelfSubjectRulesReview", "SelfSubjectReview")


def authorize(
    cluster: Cluster, at: Route, request: Request, account: tuple[str, str] | None
) -> None:
    """Raise the refusal of a real server, unless a rule lets it. `account`: the namespace and name
    of the service account that asks; None for others."""
    if account is None or at.kind.kind in _REVIEWS:
        return
    bindings = [each for each in _bindings(cluster) if _names(each, account)]
    if not bindings:
        return
    for verb in _verbs(cluster, at, request):
        namespace = at.namespace or (at.name if at.kind.kind == "Namespace" else "")
        if not any(_allows(rule, verb, at) for rule in _rules(cluster, bindings, namespace)):
            raise _forbidden(account, verb, at, namespace)


def _verbs(cluster: Cluster, at: Route, request: Request) -> Iterator[str]:
    if request.method == "GET":
        watches = at.watch or request.flag("watch")
        yield "watch" if watches else "get" if at.name else "list"
    elif request.method == "DELETE":
        yield "delete" if at.name else "deletecollection"
    elif request.method == "PATCH":
        yield "patch"
        form = request.headers.get("Content-Type", "").split(";")[0].strip()
        if form in _APPLIED and cluster.store.get(at.kind.stored_as, at.place) is None:
            yield "create"
    else:
        yield {"POST": "create", "PUT": "update"}.get(request.method, request.method.lower())


def _bindings(cluster: Cluster) -> Iterator[Object]:
    for plural in ("rolebindings", "clusterrolebindings"):
        kind = cluster.kinds.find(GROUP, VERSION, plural)
        if kind is not None:
            yield from cluster.store.list(kind.stored_as, "")[0]


def _names(binding: Object, account: tuple[str, str]) -> bool:
    home = str(binding["metadata"].get("namespace") or "")
    return any(
        one.get("kind") == "ServiceAccount"
        and (one.get("namespace") or home, one.get("name")) == account
        for one in binding.get("subjects") or ()
    )


def _rules(cluster: Cluster, bindings: list[Object], namespace: str) -> Iterator[Any]:
    for binding in bindings:
        home, to = str(binding["metadata"].get("namespace") or ""), binding["roleRef"]
        if home and home != namespace:
            continue
        plural = "roles" if to["kind"] == "Role" else "clusterroles"
        kind = cluster.kinds.find(GROUP, VERSION, plural)
        place = (home if plural == "roles" else "", str(to["name"]))
        role = cluster.store.get(kind.stored_as, place) if kind else None
        yield from (role or {}).get("rules") or ()


def _allows(rule: dict[str, Any], verb: str, at: Route) -> bool:
    resource = f"{at.kind.plural}/{at.subresource}" if at.subresource else at.kind.plural
    names = rule.get("resourceNames") or ()
    return (
        bool({verb, "*"} & set(rule.get("verbs") or ()))
        and bool({at.kind.group, "*"} & set(rule.get("apiGroups") or ()))
        and bool({resource, "*"} & set(rule.get("resources") or ()))
        and (not names or at.name in names)
    )


def _forbidden(account: tuple[str, str], verb: str, at: Route, namespace: str) -> Refusal:
    resource = f"{at.kind.plural}/{at.subresource}" if at.subresource else at.kind.plural
    where = f'in the namespace "{namespace}"' if namespace else "at the cluster scope"
    group = f".{at.kind.group}" if at.kind.group else ""
    thing = f'{at.kind.plural}{group} "{at.name}"' if at.name else f"{at.kind.plural}{group}"
    who = f"system:serviceaccount:{account[0]}:{account[1]}"
    return Refusal(
        403,
        "Forbidden",
        f'{thing} is forbidden: User "{who}" cannot {verb} resource "{resource}" in API group'
        f' "{at.kind.group}" {where}',
        {"name": at.name, "group": at.kind.group, "kind": at.kind.plural},
    )
