"""What hangs below an object: its scale, its eviction, its binding to a node, its log, commands in
it."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

from playrunner.sandbox.kube.http import podstreams
from playrunner.sandbox.kube.http.routes import Route
from playrunner.sandbox.kube.schema.problems import (
    Refusal,
    bad_request,
    conflict,
    method_not_allowed,
    not_found,
)
from playrunner.sandbox.kube.store.cluster import Cluster, now
from playrunner.sandbox.kube.store.deletion import DeleteOptions, delete
from playrunner.sandbox.kube.store.patches import json_patch, merge_patch
from playrunner.sandbox.kube.store.store import Moved, Object
from playrunner.sandbox.kube.store.write_options import WriteOptions
from playrunner.sandbox.kube.store.write_path import Writer
from playrunner.sandbox.kube.wire.messages import Reply, Request, Stream, Upgrade
from playrunner.sandbox.kube.wire.runtime import Pod, PodRuntime
from playrunner.sandbox.kube.wire.selectors import by_selector

Answer = Reply | Stream | Upgrade
_ATTEMPTS = 8


def answer(cluster: Cluster, writer: Writer, at: Route, request: Request) -> Answer:
    """A request to any subresource but the status."""
    live = cluster.store.get(at.kind.stored_as, at.place)
    if live is None:
        raise not_found(at.kind, at.name)
    handler = _HANDLERS.get(at.subresource)
    if handler is None:
        raise Refusal(
            501, "NotImplemented", f"the sandbox has no {at.kind.plural}/{at.subresource}"
        )
    return handler(cluster, writer, at, request, live)


def _scale(cluster: Cluster, writer: Writer, at: Route, request: Request, live: Object) -> Reply:
    replicas_path = at.kind.scale.get("specReplicasPath", ".spec.replicas")
    if request.method == "GET":
        return Reply(_as_scale(at, live))
    if request.method == "PUT":
        wanted = request.document()
    elif request.method == "PATCH":
        as_scale = _as_scale(at, live)
        patch = request.document()
        wanted = (
            json_patch(as_scale, patch) if isinstance(patch, list) else merge_patch(as_scale, patch)
        )
    else:
        raise method_not_allowed()
    count = (wanted.get("spec") or {}).get("replicas", 0)
    if not isinstance(count, int) or count < 0:
        raise Refusal(
            422,
            "Invalid",
            f"Scale is invalid: spec.replicas: Invalid value: {count}: must be greater than or"
            " equal to 0",
        )
    version = wanted.get("metadata", {}).get("resourceVersion")
    if request.method == "PUT" and version and version != live["metadata"]["resourceVersion"]:
        raise conflict(at.kind, at.name)
    options = WriteOptions(
        request.manager, subresource="scale", dry_run=bool(request.option("dryRun"))
    )
    changed = writer.change(
        at.kind,
        at.place,
        lambda stored: _with(stored, replicas_path.strip(".").split("."), count),
        options,
    )
    return Reply(_as_scale(at, changed))


def _as_scale(at: Route, obj: Object) -> Object:
    spec, status, kind = obj.get("spec", {}), obj.get("status", {}), at.kind
    metadata = {
        name: obj["metadata"][name]
        for name in ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")
        if name in obj["metadata"]
    }
    if kind.custom:
        replicas = _at(obj, kind.scale.get("specReplicasPath", ".spec.replicas")) or 0
        current = _at(obj, kind.scale.get("statusReplicasPath", ".status.replicas")) or 0
        selector = (
            _at(obj, kind.scale["labelSelectorPath"]) or ""
            if "labelSelectorPath" in kind.scale
            else ""
        )
    else:
        replicas, current = spec.get("replicas", 1), status.get("replicas", 0)
        labels = spec.get("selector", {}).get("matchLabels", spec.get("selector", {}))
        selector = ",".join(
            f"{key}={value}" for key, value in sorted(labels.items()) if isinstance(value, str)
        )
    status = {"replicas": current} | ({"selector": selector} if selector else {})
    return {
        "kind": "Scale",
        "apiVersion": "autoscaling/v1",
        "metadata": metadata,
        "spec": {"replicas": replicas},
        "status": status,
    }


def _at(one: Object, path: str) -> Any:
    value: Any = one
    for name in path.strip(".").split("."):
        value = value.get(name) if isinstance(value, dict) else None
    return value


def _with(one: Object, path: list[str], value: Any) -> Object:
    if len(path) == 1:
        return {**one, path[0]: value}
    return {**one, path[0]: _with(one.get(path[0]) or {}, path[1:], value)}


def _eviction(cluster: Cluster, writer: Writer, at: Route, request: Request, pod: Object) -> Reply:
    """As a removal, unless a disruption budget has nothing left."""
    if request.method != "POST":
        raise method_not_allowed()
    body = request.document() or {}
    for budget in cluster.store.list(("policy", "poddisruptionbudgets"), at.namespace)[0]:
        concerned = by_selector(budget.get("spec", {}).get("selector"))(pod)
        if concerned and budget.get("status", {}).get("disruptionsAllowed", 0) <= 0:
            name = budget["metadata"]["name"]
            why = f"The disruption budget {name} needs more healthy pods before one may go"
            details = {"causes": [{"reason": "DisruptionBudget", "message": why}]}
            raise Refusal(
                429,
                "TooManyRequests",
                "Cannot evict pod as it would violate the pod's disruption budget.",
                details,
                retry_after=10,
            )
    delete(cluster, at.kind, at.place, DeleteOptions.of(body.get("deleteOptions"), request.query))
    return Reply({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success"}, 201)


def _binding(cluster: Cluster, writer: Writer, at: Route, request: Request, pod: Object) -> Reply:
    """Give a pod its node; only once."""
    if request.method != "POST":
        raise method_not_allowed()
    node = ((request.document() or {}).get("target") or {}).get("name")
    if not node:
        raise bad_request("target.name is required")
    for _ in range(_ATTEMPTS):
        live = cluster.store.get(at.kind.stored_as, at.place)
        if live is None:
            raise not_found(at.kind, at.name)
        if live["spec"].get("nodeName"):
            raise conflict(
                at.kind,
                at.name,
                f'pod {at.name} is already assigned to node "{live["spec"]["nodeName"]}"',
            )
        scheduled = {
            "type": "PodScheduled",
            "status": "True",
            "lastProbeTime": None,
            "lastTransitionTime": now(),
        }
        others = [
            one
            for one in live.get("status", {}).get("conditions", ())
            if one["type"] != "PodScheduled"
        ]
        status = {**live.get("status", {}), "conditions": [*others, scheduled]}
        try:
            cluster.store.put(
                at.kind.stored_as,
                at.place,
                live,
                {**live, "spec": {**live["spec"], "nodeName": node}, "status": status},
            )
        except Moved:
            continue
        return Reply(
            {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success"}, 201
        )
    raise conflict(at.kind, at.name)


def _token(cluster: Cluster, writer: Writer, at: Route, request: Request, account: Object) -> Reply:
    """A token by which the service account is known, here or to whom it is meant for."""
    body = request.document() or {}
    spec = body.get("spec") or {}
    seconds = int(spec.get("expirationSeconds") or 3600)
    until = datetime.now(UTC) + timedelta(seconds=seconds)
    assert cluster.accounts is not None
    token = cluster.accounts.token(at.namespace, at.name, seconds, spec.get("audiences") or [])
    status = {"token": token, "expirationTimestamp": until.strftime("%Y-%m-%dT%H:%M:%SZ")}
    return Reply(
        {
            **body,
            "kind": "TokenRequest",
            "apiVersion": "authentication.k8s.io/v1",
            "status": status,
        },
        201,
    )


def _finalize(cluster: Cluster, writer: Writer, at: Route, request: Request, live: Object) -> Reply:
    """Set a namespace's own finalizers: how one that is stuck is let go by hand."""
    if request.method != "PUT":
        raise method_not_allowed()
    finalizers = ((request.document() or {}).get("spec") or {}).get("finalizers") or []
    wanted = {**live, "spec": {"finalizers": finalizers} if finalizers else {}}
    leaves = (
        live["metadata"].get("deletionTimestamp")
        and not finalizers
        and not live["metadata"].get("finalizers")
    )
    try:
        cluster.store.put(at.kind.stored_as, at.place, live, None if leaves else wanted)
    except Moved:
        raise conflict(at.kind, at.name) from None
    return Reply(wanted)


def _ask_runtime(
    cluster: Cluster, writer: Writer, at: Route, request: Request, pod: Object
) -> Answer:
    """The pod's node, where it has a kubelet; else the pod runtime inside this process."""
    asked = cluster.nodes.ask(pod, at.subresource, request) if cluster.nodes is not None else None
    return asked or _RUNNING[at.subresource](cluster.runtime, pod, request)


_RUNNING: dict[str, Callable[[PodRuntime, Pod, Request], Answer]] = {
    "log": podstreams.log,
    "exec": podstreams.execute,
    "attach": podstreams.attach,
    "portforward": podstreams.forward,
}
_HANDLERS: dict[str, Callable[[Cluster, Writer, Route, Request, Object], Answer]] = {
    "scale": _scale,
    "eviction": _eviction,
    "binding": _binding,
    "token": _token,
    "finalize": _finalize,
    **dict.fromkeys(_RUNNING, _ask_runtime),
}
