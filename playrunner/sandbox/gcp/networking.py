"""Firewall rules, forwarding rules and target pools: what GKE makes for a cluster, and what its
load balancers are made of."""

from __future__ import annotations

from typing import Any

from playrunner.sandbox.gcp import operations
from playrunner.sandbox.gcp.gcp_state import Key, now
from playrunner.sandbox.gcp.messages import Call, GcpError, missing

KINDS = {
    "firewalls": "firewall",
    "forwardingRules": "forwardingRule",
    "targetPools": "targetPool",
    "networks": "network",
    "addresses": "address",
}


def insert(call: Call) -> dict[str, Any]:
    body, name = call.body, str(call.body.get("name", ""))
    key, kind = _key(call, name), call.at["kind"]
    if key in call.state.of(kind):
        raise GcpError(409, f"The resource '{_path(call, name)}' already exists")
    made = _made(call, kind, call.location, name, body)
    call.state.of(kind)[key] = made
    return operations.compute(
        call,
        "insert",
        made,
        "compute.network",
        lambda: None,
        undo=lambda: call.state.of(kind).pop(key, None),
    )


def get(call: Call) -> dict[str, Any]:
    found = call.state.of(call.at["kind"]).get(_key(call, call.at["name"]))
    if found is None:
        raise missing(f"The resource '{_path(call, call.at['name'])}' was not found")
    return found


def listing(call: Call) -> dict[str, Any]:
    kind = call.at["kind"]
    here = [
        one
        for (project, place, _), one in call.state.of(kind).items()
        if (project, place) == (call.project, call.location)
    ]
    return {"kind": f"compute#{KINDS[kind]}List", "items": here}


def aggregated(call: Call) -> dict[str, Any]:
    kind, places = call.at["kind"], dict[str, Any]()
    for (project, place, _), one in call.state.of(kind).items():
        if project == call.project:
            where = f"regions/{place}" if place else "global"
            places.setdefault(where, {kind: []})[kind].append(one)
    return {"kind": f"compute#{KINDS[kind]}AggregatedList", "items": places}


def delete(call: Call) -> dict[str, Any]:
    there, kind = get(call), call.at["kind"]
    users = [
        one
        for one in call.state.of("forwardingRules").values()
        if one.get("target") == there["selfLink"]
    ]
    if users:
        raise GcpError(
            400,
            f"The {KINDS[kind]} resource '{_path(call, there['name'])}' is already being used by"
            f" '{users[0]['name']}'",
            reason="resourceInUseByAnotherResource",
        )
    key = _key(call, there["name"])
    return operations.compute(
        call,
        "delete",
        there,
        "compute.network",
        lambda: call.state.of(kind).pop(key, None),
        undo=lambda: None,
    )


def open_cluster(call: Call, cluster: dict[str, Any]) -> None:
    """The rules that GKE makes with a cluster."""
    for end in ("all", "vms"):
        name = f"gke-{cluster['name']}-{cluster['id'][:8]}-{end}"
        body = {
            "network": cluster["network"],
            "targetTags": [f"gke-{cluster['name']}-{cluster['id'][:8]}-node"],
            "sourceRanges": [cluster["clusterIpv4Cidr"]],
            "direction": "INGRESS",
            "allowed": [{"IPProtocol": "tcp"}],
        }
        call.state.of("firewalls")[call.project, "", name] = _made(
            call, "firewalls", "", name, body
        )


def close_cluster(call: Call, cluster: dict[str, Any]) -> None:
    """They go with it; those of its load balancers stay, since no controller is left to remove
    them."""
    for end in ("all", "vms"):
        call.state.of("firewalls").pop(
            (call.project, "", f"gke-{cluster['name']}-{cluster['id'][:8]}-{end}"), None
        )


def _made(call: Call, kind: str, place: str, name: str, body: dict[str, Any]) -> dict[str, Any]:
    base = f"{call.request.base}/compute/v1/projects/{call.project}"
    where = f"{base}/regions/{place}" if place else f"{base}/global"
    region = {"region": f"{base}/regions/{place}"} if place else {}
    return {
        "kind": f"compute#{KINDS[kind]}",
        "id": call.state.id(),
        "creationTimestamp": now(),
        **region,
        **body,
        "name": name,
        "selfLink": f"{where}/{kind}/{name}",
    }


def _key(call: Call, name: str) -> Key:
    return call.project, call.location, name


def _path(call: Call, name: str) -> str:
    place = f"regions/{call.location}" if call.location else "global"
    return f"projects/{call.project}/{place}/{call.at['kind']}/{name}"
