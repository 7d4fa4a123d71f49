"""What is served: `/api`, `/apis` and below, each alone or all in one."""

from __future__ import annotations

from typing import Any

from playrunner.sandbox.kube.schema.kinds import Kind, Kinds
from playrunner.sandbox.kube.wire.messages import Reply, Request

_AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
_SUBRESOURCES: dict[
    str, tuple[str, str, str, tuple[str, ...]]
] = {  # group, version and kind of the body, and the verbs
    "scale": ("autoscaling", "v1", "Scale", ("get", "patch", "update")),
    "eviction": ("policy", "v1", "Eviction", ("create",)),
    "binding": ("", "", "Binding", ("create",)),
    "token": ("authentication.k8s.io", "v1", "TokenRequest", ("create",)),
    "log": ("", "", "Pod", ("get",)),
    "exec": ("", "", "PodExecOptions", ("create", "get")),
    "attach": ("", "", "PodAttachOptions", ("create", "get")),
    "portforward": ("", "", "PodPortForwardOptions", ("create", "get")),
    "finalize": ("", "", "Namespace", ("update",)),
}
_STATUS_VERBS = ("get", "patch", "update")
_UNSERVED = ("proxy", "ephemeralcontainers")


def answer(kinds: Kinds, request: Request) -> Reply | None:
    """None when the path is not discovery's."""
    parts = request.path.strip("/").split("/")
    if parts == [""]:
        return Reply(
            {
                "paths": [
                    "/api",
                    "/api/v1",
                    "/apis",
                    "/healthz",
                    "/livez",
                    "/openapi/v2",
                    "/openapi/v3",
                    "/readyz",
                    "/version",
                ]
            }
        )
    aggregated = "g=apidiscovery.k8s.io;v=v2;" in request.headers.get("Accept", "")
    if parts in (["api"], ["apis"]) and aggregated:
        groups = [group for group in kinds.versions() if bool(group) == (parts == ["apis"])]
        items = [_aggregated(kinds, group) for group in groups]
        value = {
            "kind": "APIGroupDiscoveryList",
            "apiVersion": "apidiscovery.k8s.io/v2",
            "metadata": {},
            "items": items,
        }
        return Reply(value, content_type=_AGGREGATED)
    if parts == ["api"]:
        return Reply({"kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": []})
    if parts == ["apis"]:
        listed = [_group(group, versions) for group, versions in kinds.versions().items() if group]
        return Reply({"kind": "APIGroupList", "apiVersion": "v1", "groups": listed})
    if parts[0] == "apis" and len(parts) == 2 and parts[1] in kinds.versions():
        return Reply(
            {"kind": "APIGroup", "apiVersion": "v1", **_group(parts[1], kinds.versions()[parts[1]])}
        )
    if parts == ["api", "v1"]:
        return Reply(_resources(kinds, "", "v1"))
    if parts[0] == "apis" and len(parts) == 3 and kinds.serves(parts[1], parts[2]):
        return Reply(_resources(kinds, parts[1], parts[2]))
    return None


def _group(group: str, versions: list[str]) -> dict[str, Any]:
    listed = [{"groupVersion": f"{group}/{version}", "version": version} for version in versions]
    return {"name": group, "versions": listed, "preferredVersion": listed[0]}


def _of(kinds: Kinds, group: str, version: str) -> list[Kind]:
    return sorted(
        (one for one in kinds.all() if (one.group, one.version) == (group, version)),
        key=lambda one: one.plural,
    )


def _resources(kinds: Kinds, group: str, version: str) -> dict[str, Any]:
    resources = []
    for served in _of(kinds, group, version):
        entry: dict[str, Any] = {
            "name": served.plural,
            "singularName": served.singular,
            "namespaced": served.namespaced,
            "kind": served.kind,
        }
        entry["verbs"] = list(served.verbs)
        if served.short_names:
            entry["shortNames"] = list(served.short_names)
        if served.categories:
            entry["categories"] = list(served.categories)
        resources.append(entry)
        for name, (body_group, body_version, kind, verbs) in _below(served):
            below = {
                "name": f"{served.plural}/{name}",
                "singularName": "",
                "namespaced": served.namespaced,
                "kind": kind,
                "verbs": list(verbs),
            }
            if body_version:
                below |= {"group": body_group, "version": body_version}
            resources.append(below)
    return {
        "kind": "APIResourceList",
        "apiVersion": "v1",
        "groupVersion": f"{group}/{version}" if group else version,
        "resources": resources,
    }


def _below(one: Kind) -> list[tuple[str, tuple[str, str, str, tuple[str, ...]]]]:
    return [
        (name, _SUBRESOURCES.get(name, ("", "", one.kind, _STATUS_VERBS)))
        for name in one.subresources
        if name not in _UNSERVED
    ]


def _aggregated(kinds: Kinds, group: str) -> dict[str, Any]:
    versions = []
    for version in kinds.versions()[group]:
        resources = []
        for served in _of(kinds, group, version):
            entry: dict[str, Any] = {
                "resource": served.plural,
                "responseKind": {
                    "group": served.group,
                    "version": served.version,
                    "kind": served.kind,
                },
                "scope": "Namespaced" if served.namespaced else "Cluster",
                "singularResource": served.singular,
                "verbs": list(served.verbs),
            }
            entry |= {"shortNames": list(served.short_names)} if served.short_names else {}
            entry |= {"categories": list(served.categories)} if served.categories else {}
            below = [
                {
                    "subresource": name,
                    "responseKind": {
                        "group": body_group or group,
                        "version": body_version or version,
                        "kind": kind,
                    },
                    "verbs": list(verbs),
                }
                for name, (body_group, body_version, kind, verbs) in _below(served)
            ]
            entry |= {"subresources": below} if below else {}
            resources.append(entry)
        versions.append({"version": version, "resources": resources, "freshness": "Current"})
    return {"metadata": {"name": group, "creationTimestamp": None}, "versions": versions}
