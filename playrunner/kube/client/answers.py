"""What an API server answers, checked once: objects, lists of them, kinds and watch events, with
the fields that are read here.

Only fields that this program reads are looked at, in the kinds that Kubernetes itself has; what
others put into their own kinds is theirs.
"""

from __future__ import annotations

from typing import Any

from playrunner.text.answers import BadAnswer, Shape, document, fitting

_TEXTS: Shape = {"*": str}
_META: Shape = {
    "name": str,
    "namespace": str,
    "uid": str,
    "resourceVersion": str,
    "generateName": str,
    "generation": int,
    "creationTimestamp": str,
    "deletionTimestamp": str,
    "labels": _TEXTS,
    "annotations": _TEXTS,
    "finalizers": [str],
    "ownerReferences": [{"kind": str, "name": str, "uid": str, "controller": bool}],
    "managedFields": [dict],
}
_CONDITIONS: Shape = [{"type": str, "status": str, "reason": str, "message": str}]
_STATE: Shape = {
    "waiting": {"reason": str, "message": str},
    "running": dict,
    "terminated": {"exitCode": int, "reason": str, "message": str, "finishedAt": str},
}
_CONTAINER: Shape = {
    "name!": str,
    "image": str,
    "command": [str],
    "args": [str],
    "env": [{"name!": str}],
    "ports": [dict],
    "volumeMounts": [dict],
    "resources": {"requests": dict, "limits": dict},
}
_CONTAINER_STATUSES: Shape = [
    {
        "name!": str,
        "image": str,
        "containerID": str,
        "restartCount": int,
        "ready": bool,
        "state": _STATE,
        "lastState": _STATE,
    }
]
_POD_SPEC: Shape = {
    "nodeName": str,
    "containers": [_CONTAINER],
    "initContainers": [_CONTAINER],
    "nodeSelector": _TEXTS,
    "tolerations": [dict],
    "volumes": [{"name!": str, "persistentVolumeClaim": {"claimName": str}}],
}
_SELECTOR: Shape = {"matchLabels": _TEXTS, "matchExpressions": [dict]}
_WORKLOAD: Shape = {
    "spec": {
        "replicas": int,
        "selector": _SELECTOR,
        "template": {"metadata": _META, "spec": _POD_SPEC},
        "completions": int,
        "updateStrategy": {"type": str, "rollingUpdate": dict},
        "suspend": bool,
    },
    "status": dict.fromkeys(
        (
            "observedGeneration",
            "replicas",
            "readyReplicas",
            "updatedReplicas",
            "availableReplicas",
            "desiredNumberScheduled",
            "updatedNumberScheduled",
            "numberAvailable",
            "succeeded",
        ),
        int,
    ),
}
_ADDRESSED: Shape = {
    "subsets": [{"addresses": [dict]}],
    "endpoints": [{"addresses": [str], "conditions": {"ready": bool}}],
}
_KINDS: dict[str, Shape] = {
    "Deployment": _WORKLOAD,
    "DaemonSet": _WORKLOAD,
    "StatefulSet": _WORKLOAD,
    "ReplicaSet": _WORKLOAD,
    "Job": _WORKLOAD,
    "Pod": {
        "spec": _POD_SPEC,
        "status": {
            "phase": str,
            "reason": str,
            "message": str,
            "podIP": str,
            "containerStatuses": _CONTAINER_STATUSES,
            "initContainerStatuses": _CONTAINER_STATUSES,
        },
    },
    "Node": {
        "spec": {"taints": [{"key!": str, "value": str, "effect": str}], "unschedulable": bool},
        "status": {
            "capacity": dict,
            "allocatable": dict,
            "addresses": [{"type": str, "address": str}],
            "nodeInfo": dict,
        },
    },
    "PersistentVolume": {
        "spec": {
            "claimRef": {"name": str, "namespace": str},
            "nfs": dict,
            "csi": dict,
            "capacity": dict,
            "accessModes": [str],
            "mountOptions": [str],
        },
        "status": {"phase": str},
    },
    "PersistentVolumeClaim": {
        "spec": {"accessModes": [str], "volumeName": str, "storageClassName": str},
        "status": {"phase": str, "capacity": dict},
    },
    "Service": {
        "spec": {"clusterIP": str, "type": str, "selector": _TEXTS, "ports": [dict]},
        "status": {"loadBalancer": {"ingress": [dict]}},
    },
    "Endpoints": _ADDRESSED,
    "EndpointSlice": _ADDRESSED,
    "Event": {
        "type": str,
        "reason": str,
        "message": str,
        "involvedObject": {"kind": str, "name": str, "uid": str},
    },
    "ConfigMap": {"data": _TEXTS},
    "Secret": {"data": _TEXTS},
    "StorageClass": {"parameters": _TEXTS, "volumeBindingMode": str},
    "Lease": {"spec": {"holderIdentity": str}},
    "NetworkPolicy": {"spec": {"podSelector": _SELECTOR, "ingress": [{"from": [dict]}]}},
    "CustomResourceDefinition": {
        "spec": {"group": str, "names": {"kind": str, "plural": str}, "versions": [{"name": str}]}
    },
}
_OBJECT: Shape = {
    "kind!": str,
    "apiVersion!": str,
    "metadata!": {**_META, "name!": str},
    "spec": dict,
    "status": {"conditions": _CONDITIONS},
}
_ITEM: Shape = {
    "metadata!": {**_META, "name!": str},
    "spec": dict,
    "status": {"conditions": _CONDITIONS},
}
_LIST: Shape = {
    "kind": str,
    "metadata!": {"resourceVersion": str, "continue": str},
    "items": [_ITEM],
}
_RESOURCES: Shape = {
    "resources!": [{"name!": str, "kind!": str, "namespaced": bool, "verbs": [str]}]
}
_GROUPS: Shape = {"groups!": [{"name": str, "versions": [{"groupVersion!": str}]}]}
_ANY: Shape = {"kind": str, "apiVersion": str}
_EVENT: Shape = {"type!": str, "object!": {"metadata": _META}}


def mapping(data: bytes, source: str, content_type: str = "") -> dict[str, Any]:
    """Whatever a server answers: an object, a status, its version."""
    body: dict[str, Any] = fitting(document(data, source, content_type), _ANY, source)
    if (
        "metadata" in body
        and "apiVersion" in body
        and "items" not in body
        and body.get("kind") != "Status"
    ):
        thing(body, source)
    return body


def version(data: bytes, source: str, content_type: str = "") -> dict[str, Any]:
    """Which version a server is of."""
    return dict(fitting(document(data, source, content_type), {"gitVersion!": str}, source))


def thing(body: dict[str, Any], source: str) -> dict[str, Any]:
    """One object."""
    fitting(body, _OBJECT, source)
    return _of_its_kind(body, body["kind"], body["apiVersion"], source)


def items(page: dict[str, Any], kind: str, api_version: str, source: str) -> list[dict[str, Any]]:
    """The objects of one page of a list; lists leave out what kind their items are of."""
    fitting(page, _LIST, source)
    if "items" not in page:  # it may be null, as Go has it for none
        raise BadAnswer(
            f"{source} answered no list: it has no items; does the address lead to an API server?"
        )
    listed: list[dict[str, Any]] = page["items"] or []
    return [_of_its_kind(one, kind, api_version, source) for one in listed]


def served(body: dict[str, Any], source: str) -> dict[str, Any]:
    """The kinds of one version of a group."""
    return dict(fitting(body, _RESOURCES, source))


def groups(body: dict[str, Any], source: str) -> dict[str, Any]:
    return dict(fitting(body, _GROUPS, source))


def event(line: bytes, kind: str, api_version: str, source: str) -> dict[str, Any]:
    """One line of a watch."""
    event: dict[str, Any] = fitting(document(line, source), _EVENT, source)
    if event["type"] in ("ADDED", "MODIFIED", "DELETED"):
        fitting(event["object"], _ITEM, source)
        _of_its_kind(event["object"], kind, api_version, source)
    return event


def _of_its_kind(body: dict[str, Any], kind: str, api_version: str, source: str) -> dict[str, Any]:
    group = api_version.rpartition("/")[0]
    if "." not in group or group.endswith(
        ".k8s.io"
    ):  # other groups may have kinds of the same name
        fitting(body, _KINDS.get(kind, {}), f"{source} ({kind})")
    return body
