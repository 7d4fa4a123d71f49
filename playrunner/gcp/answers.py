"""What Google's APIs answer, checked once: documents, and the fields of them that are read here,
wherever they stand."""

from __future__ import annotations

from typing import Any

from playrunner.text.answers import Shape, document, fitting

# The services spell the same thing in the same way, so a name says what is behind it.
_FIELDS: dict[str, Shape] = {
    **dict.fromkeys(
        (
            "name",
            "status",
            "selfLink",
            "location",
            "zone",
            "machineType",
            "currentMasterVersion",
            "initialClusterVersion",
            "channel",
            "workloadPool",
            "labelFingerprint",
            "storageClass",
            "format",
            "timeCreated",
            "creationTimestamp",
            "createTime",
            "description",
            "statusMessage",
            "endpoint",
            "clusterCaCertificate",
            "registryUri",
            "nextPageToken",
            "operationType",
            "metric",
        ),
        str,
    ),
    **dict.fromkeys(
        (
            "resourceLabels",
            "autoscaling",
            "config",
            "releaseChannel",
            "workloadIdentityConfig",
            "iamConfiguration",
            "versioning",
            "uniformBucketLevelAccess",
            "dockerConfig",
            "masterAuth",
            "error",
        ),
        dict,
    ),
    **{
        key: [dict]
        for key in (
            "nodePools",
            "taints",
            "accelerators",
            "conditions",
            "quotas",
            "errors",
            "guestAccelerators",
        )
    },
    **{
        key: [str]
        for key in ("locations", "instanceGroupUrls", "users", "validMasterVersions", "targetTags")
    },
    "labels": {"*": str},
    "limit": float,
    "usage": float,
    "enabled": bool,
    "done": bool,
}
_ERROR: Shape = {
    "error": {
        "message": str,
        "status": str,
        "errors": [dict],
        "details": [{"metadata": {"service": str}}],
    }
}


def checked(data: bytes, source: str, content_type: str) -> dict[str, Any]:
    """The document of an answer."""
    whole: dict[str, Any] = fitting(document(data, source, content_type), dict, source)
    parts: list[Any] = [whole]
    while parts:
        part = parts.pop()
        if isinstance(part, dict):
            for name in part.keys() & _FIELDS.keys():
                if part[name] is not None:
                    fitting({name: part[name]}, {name: _FIELDS[name]}, source)
        parts += [
            value
            for value in (part.values() if isinstance(part, dict) else part)
            if isinstance(value, (dict, list))
        ]
    return whole


def listed(page: dict[str, Any], key: str, source: str) -> list[Any]:
    """The things of one page: a list, or what an aggregated one has in each place; a page without
    any leaves them out."""
    things = page.get(key)
    if isinstance(things, dict):
        fitting(things, {"*": dict}, source)
        return [
            item
            for group in things.values()
            for value in group.values()
            if isinstance(value, list)
            for item in fitting(value, [dict], source)
        ]
    return list(fitting(things, [dict], source)) if things is not None else []


def refusal(data: bytes, source: str, content_type: str) -> dict[str, Any]:
    """The document of a refusal."""
    return dict(fitting(document(data, source, content_type), _ERROR, source))
