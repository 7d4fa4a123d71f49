"""Changing nodes: labels, annotations, taints and cordons, beside all those who write to nodes,
too."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from playrunner.kube.client.client import Kube
from playrunner.kube.client.errors import KubeError
from playrunner.kube.client.resource import Resource

NODES = Resource("v1", "Node", "nodes", False)
ATTEMPTS = 8  # the kubelet and controllers also write to nodes


def taints_of(node: Mapping[str, Any]) -> dict[str, str]:
    """The value of each taint, by key:effect."""
    return {
        f"{taint['key']}:{taint['effect']}": str(taint.get("value") or "")
        for taint in node.get("spec", {}).get("taints") or ()
    }


def update_node(
    kube: Kube,
    name: str,
    taints: Mapping[str, str | None],
    labels: Mapping[str, Any] | None = None,
    annotations: Mapping[str, Any] | None = None,
    cordoned: bool | None = None,
) -> None:
    """Set what is named, remove what is None, and leave everything else as it is."""
    for attempt in range(ATTEMPTS):
        node = kube.call("GET", NODES.path(name=name))
        by_key = {
            f"{taint['key']}:{taint['effect']}": taint
            for taint in node.get("spec", {}).get("taints") or ()
        }
        for key, value in taints.items():
            by_key.pop(key, None)
            if value is not None:
                by_key[key] = {
                    "key": key.rpartition(":")[0],
                    "effect": key.rpartition(":")[2],
                    **({"value": value} if value else {}),
                }
        spec: dict[str, Any] = {"taints": list(by_key.values()) or None} if taints else {}
        if cordoned is not None:
            spec["unschedulable"] = True if cordoned else None
        meta: dict[str, Any] = {"resourceVersion": node["metadata"]["resourceVersion"]}
        meta |= {"labels": dict(labels)} if labels else {}
        meta |= {"annotations": dict(annotations)} if annotations else {}
        try:
            kube.call(
                "PATCH",
                NODES.path(name=name),
                {"metadata": meta, "spec": spec},
                "application/merge-patch+json",
                fieldManager="playrunner",
            )
            return
        except KubeError as error:
            if error.status != 409 or attempt == ATTEMPTS - 1:
                raise
            kube.sleep(0.05 * (attempt + 1))  # another client wrote in between
