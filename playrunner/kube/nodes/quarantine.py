"""Quarantine of a cluster's nodes: a taint, and a cordon where asked, with our mark; the reason and
the expiry stand beside it on the node itself."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import asdict
from typing import Any

from playrunner.errors import BadInput
from playrunner.kube.client.client import Kube
from playrunner.kube.client.errors import KubeError
from playrunner.kube.client.resource import Resource
from playrunner.project import program
from playrunner.ssh.quarantine import Entry, who
from playrunner.text.answers import BadAnswer, Shape, document, fitting

_MARKED: Shape = {"reason!": str, "since!": float, "until!": float, "who!": str, "cordoned": bool}

MARK = "playrunner.io/quarantine"  # the taint's key, and the annotation's
NODES = Resource("v1", "Node", "nodes", False)
ATTEMPTS = 8  # the kubelet and controllers also write to nodes


def entries(kube: Kube) -> dict[str, Entry]:
    """Every node that carries our mark, expired or not: only we take it off again."""
    kube.refresh()
    found = {node["metadata"]["name"]: _entry(node) for node in kube.listing(NODES).items}
    return {name: entry for name, entry in found.items() if entry}


def names(kube: Kube) -> list[str]:
    return sorted(node["metadata"]["name"] for node in kube.listing(NODES).items)


def put(kube: Kube, name: str, reason: str, seconds: float, cordon: bool = True) -> Entry:
    """No new pods come to the node; those on it are left alone. Without `cordon` pods that
    tolerate every taint still come."""
    entry = Entry(name, reason, time.time(), time.time() + seconds, who())

    def marked(node: dict[str, Any]) -> dict[str, Any]:
        cordoned = _said(node).get(
            "cordoned", bool(node["spec"].get("unschedulable"))
        )  # by another user, and stays so
        taints = [*_other_taints(node), {"key": MARK, "value": "bad-node", "effect": "NoSchedule"}]
        return {
            "metadata": {
                "annotations": {MARK: json.dumps({**asdict(entry), "cordoned": cordoned})}
            },
            "spec": {"taints": taints, "unschedulable": True if cordon or cordoned else None},
        }

    _write(kube, name, marked)
    return entry


def release(kube: Kube, name: str) -> bool:
    """Take our mark off; whether it was there. A node that another user cordoned stays cordoned."""
    found = kube.get(NODES, "", name)
    if found is None or not _annotation(found):
        return False

    def cleared(node: dict[str, Any]) -> dict[str, Any]:
        cordoned = _said(node).get("cordoned", False)
        return {
            "metadata": {"annotations": {MARK: None}},
            "spec": {
                "taints": _other_taints(node) or None,
                "unschedulable": True if cordoned else None,
            },
        }

    _write(kube, name, cleared)
    return True


def release_expired(kube: Kube) -> list[str]:
    """Those whose time was over, now free; none where the user may not change nodes."""
    try:
        over = [name for name, entry in entries(kube).items() if entry.expired]
        return [name for name in over if release(kube, name)]
    except KubeError:
        return []


def _write(kube: Kube, name: str, change: Callable[[dict[str, Any]], dict[str, Any]]) -> None:
    for attempt in range(ATTEMPTS):
        try:
            node = kube.call("GET", NODES.path(name=name))
            body = change(node)
            body["metadata"]["resourceVersion"] = node["metadata"]["resourceVersion"]
            kube.call(
                "PATCH",
                NODES.path(name=name),
                body,
                "application/merge-patch+json",
                fieldManager="playrunner",
            )
            return
        except KubeError as error:
            if error.not_found:
                raise BadInput(
                    f'there is no node "{name}" in the inventory or the cluster; see: {program()}'
                    " nodes.list"
                ) from None
            if error.status != 409 or attempt == ATTEMPTS - 1:
                raise
            kube.sleep(0.05 * (attempt + 1))  # another client wrote in between


def _entry(node: dict[str, Any]) -> Entry | None:
    mark = _said(node)
    return (
        Entry(
            node["metadata"]["name"],
            *(mark[field] for field in ("reason", "since", "until", "who")),
        )
        if mark
        else None
    )


def _said(node: dict[str, Any]) -> dict[str, Any]:
    """What our mark on a node says; one that was not written here says nothing."""
    text = _annotation(node)
    try:
        return (
            dict(
                fitting(
                    document(text.encode(), "a node's annotation"), _MARKED, "a node's annotation"
                )
            )
            if text
            else {}
        )
    except BadAnswer:
        return {}


def _annotation(node: dict[str, Any]) -> str:
    return str((node["metadata"].get("annotations") or {}).get(MARK) or "")


def _other_taints(node: dict[str, Any]) -> list[dict[str, Any]]:
    return [taint for taint in node["spec"].get("taints") or () if taint["key"] != MARK]
