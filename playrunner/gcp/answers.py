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
    found: dict[str, Any] = fitting(document(data, source, content_type), dict, source)
    inner: list[Any] = [found]
    while inner:
        one = inner.pop()
        if isinstance(one, dict):
            for name in one.keys() & _FIELDS.keys():
                if one[name] is not None:
                    fitting({name: one[name]}, {name: _FIELDS[name]}, source)
        inner += [
            value
            for value in (one.values() if isinstance(one, dict) else one)
            if isinstance(value, (dict, list))
        ]
    return found


def listed(found: dict[str, Any], key: str, source: str) -> list[Any]:
    """The things of one page: a list, or what an aggregated one has in each place; a page without
    any leaves them out."""
    things = found.get(key)
    if isinstance(things, dict):
        fitting(things, {"*": dict}, source)
        return [
            one
            for place in things.values()
            for value in place.values()
            if isinstance(value, list)
            for one in fitting(value, [dict], source)
        ]
    return list(fitting(things, [dict], source)) if things is not None else []


def refusal(data: bytes, source: str, content_type: str) -> dict[str, Any]:
    """The document of a refusal."""
    return dict(fitting(document(data, source, content_type), _ERROR, source))
