"""The environment of a container: values, and what they are taken from; `$(NAME)` in values,
commands and arguments."""

from __future__ import annotations

import base64
import re
from collections.abc import Callable
from decimal import ROUND_CEILING
from typing import Any

from playrunner.sandbox.kube.controllers.framework.client import Api, ApiError
from playrunner.sandbox.kube.controllers.framework.resources import (
    CONFIG_MAPS,
    SECRETS,
    Object,
    Resource,
    annotations_of,
    labels_of,
)
from playrunner.sandbox.kube.schema.quantities import value_of

_REFERENCE = re.compile(r"\$\$|\$\(([A-Za-z_.-][\w.-]*)\)")
_BY_KEY = re.compile(r"metadata\.(labels|annotations)\['([^']+)'\]")


class ConfigMissing(Exception):
    """Something that the container is configured from is not there; the message is the
    kubelet's."""


class Sources:
    """ConfigMaps and Secrets, asked of the API each time: a container sees them as they are when it
    starts."""

    def __init__(self, api: Api) -> None:
        self._api = api

    def config_map(self, namespace: str, name: str, optional: bool = False) -> dict[str, bytes]:
        found = self._get(CONFIG_MAPS, namespace, name, optional)
        text = {key: value.encode() for key, value in (found.get("data") or {}).items()}
        return text | {
            key: base64.b64decode(value) for key, value in (found.get("binaryData") or {}).items()
        }

    def secret(self, namespace: str, name: str, optional: bool = False) -> dict[str, bytes]:
        found = self._get(SECRETS, namespace, name, optional)
        return {key: base64.b64decode(value) for key, value in (found.get("data") or {}).items()}

    def _get(self, resource: Resource, namespace: str, name: str, optional: bool) -> Object:
        try:
            obj: Object = self._api.call("GET", resource.path(namespace, name))
        except ApiError as error:
            if error.code != 404:
                raise
            if optional:
                return {}
            raise ConfigMissing(f'{resource.kind.lower()} "{name}" not found') from None
        return obj


def environment_of(
    pod: Object, container: Object, address: str, sources: Sources
) -> dict[str, str]:
    """In the order in which it is declared: what comes later may use what came before."""
    variables: dict[str, str] = {}
    namespace = pod["metadata"]["namespace"]
    for entry in container.get("envFrom") or ():
        for kind, get in (("configMapRef", sources.config_map), ("secretRef", sources.secret)):
            if kind in entry:
                values = get(namespace, entry[kind]["name"], bool(entry[kind].get("optional")))
                variables |= {
                    entry.get("prefix", "") + key: value.decode() for key, value in values.items()
                }
    for entry in container.get("env") or ():
        if "valueFrom" not in entry:
            variables[entry["name"]] = expanded(entry.get("value", ""), variables)
            continue
        value = _value_from(pod, container, address, entry["valueFrom"], sources)
        if value is not None:
            variables[entry["name"]] = value
    return variables


def _value_from(
    pod: Object, container: Object, address: str, source: Object, sources: Sources
) -> str | None:
    namespace = pod["metadata"]["namespace"]
    if "fieldRef" in source:
        return field(pod, source["fieldRef"]["fieldPath"], address)
    if "resourceFieldRef" in source:
        return resource_field(pod, container, source["resourceFieldRef"])
    for kind, get, named in (
        ("configMapKeyRef", sources.config_map, "ConfigMap"),
        ("secretKeyRef", sources.secret, "Secret"),
    ):
        if kind in source:
            return _by_key(source[kind], get, namespace, named)
    return None


def _by_key(
    selector: Object, get: Callable[..., dict[str, bytes]], namespace: str, kind: str
) -> str | None:
    optional = bool(selector.get("optional"))
    values = get(namespace, selector["name"], optional)
    if selector["key"] in values:
        return values[selector["key"]].decode()
    if optional:
        return None
    raise ConfigMissing(
        f"couldn't find key {selector['key']} in {kind} {namespace}/{selector['name']}"
    )


def field(pod: Object, path: str, address: str) -> str:
    """A field of the pod, as the downward API has them."""
    keyed = _BY_KEY.fullmatch(path)
    if keyed:
        return (labels_of(pod) if keyed[1] == "labels" else annotations_of(pod)).get(keyed[2], "")
    if path in ("metadata.labels", "metadata.annotations"):
        values = labels_of(pod) if path.endswith("labels") else annotations_of(pod)
        return "\n".join(f'{key}="{value}"' for key, value in sorted(values.items()))
    if path in ("status.podIP", "status.podIPs"):
        return address
    if path in ("status.hostIP", "status.hostIPs"):
        return "127.0.0.1"
    value: Any = pod
    for name in path.split("."):
        value = value.get(name) if isinstance(value, dict) else None
    return str(value if value is not None else "")


def resource_field(pod: Object, container: Object, selector: Object) -> str:
    """A limit or request as a whole number of `divisor`."""
    named = selector.get("containerName")
    if named:
        container = next(one for one in pod["spec"]["containers"] if one["name"] == named)
    kind, _, name = selector["resource"].partition(".")
    amount = ((container.get("resources") or {}).get(kind) or {}).get(name, "0")
    divisor = value_of(selector.get("divisor") or "1") or value_of("1")
    return str(int((value_of(amount) / divisor).to_integral_value(ROUND_CEILING)))


def expanded(text: str, values: dict[str, str]) -> str:
    """`$(NAME)` by its value; `$$` is a dollar, and a name that is not there stays as it is."""
    return _REFERENCE.sub(
        lambda found: "$" if found[0] == "$$" else values.get(found[1], found[0]), text
    )
