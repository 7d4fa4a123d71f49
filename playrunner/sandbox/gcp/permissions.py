"""Which permission of IAM a call asks for: mostly its own name, with the exceptions that Google's
reference lists."""

from __future__ import annotations

from collections.abc import Mapping

_VERBS = {
    "insert": "create",
    "aggregatedList": "list",
    "wait": "get",
}  # Compute Engine's methods, as its permissions say them
_SERVICES = {"cloudresourcemanager": "resourcemanager"}
_OTHERS = {
    "container.clusters.setResourceLabels": "container.clusters.update",
    "container.clusters.getServerConfig": "container.clusters.list",
    "oauth2.generateAccessToken": "iam.serviceAccounts.getAccessToken",
    "oauth2.token": "",  # granted to every holder of the key
}


def permission_of(service: str, action: str, at: Mapping[str, str]) -> str:
    """Of a call at a place; empty where none is needed."""
    method = f"{service}.{action}"
    if method in _OTHERS:
        return _OTHERS[method]
    kind, _, verb = action.rpartition(".")
    if method.startswith("container.nodePools."):  # pools have no permissions of their own
        return f"container.clusters.{'get' if verb in ('get', 'list') else 'update'}"
    if method.startswith("compute.operations."):
        scope = "zone" if "zone" in at else "region" if "region" in at else "global"
        return f"compute.{scope}Operations.{_VERBS.get(verb, verb)}"
    verb = _VERBS.get(verb, verb) if service == "compute" else verb
    return f"{_SERVICES.get(service, service)}.{kind}.{verb}"
