"""What kinds of objects an API server has, and under which paths; asked once a run, and again when
a kind is missing."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any
from urllib.parse import quote

from playrunner.frozen import frozen
from playrunner.text.did_you_mean import nearest

AGAIN_SECONDS = 1.0  # a kind that was not there a second ago may have come with a CRD since

Get = Callable[[str], Any]  # what a GET of a path gives; None when there is no such path


@frozen
class Resource:
    """One kind of object as a server has it."""

    api_version: str
    kind: str
    plural: str
    namespaced: bool
    verbs: frozenset[str] = frozenset()

    def path(self, namespace: str = "", name: str = "") -> str:
        """Of one object, of all in a namespace, or of all there are."""
        home = "/api/v1" if self.api_version == "v1" else f"/apis/{self.api_version}"
        inside = f"/namespaces/{quote(namespace)}" if self.namespaced and namespace else ""
        # Names of RBAC objects hold colons; those of all others only what a path takes as it is.
        return f"{home}{inside}/{self.plural}" + (f"/{quote(name)}" if name else "")

    @property
    def spelled(self) -> str:
        """As kubectl takes it: deployments.apps."""
        group = group_of(self.api_version)
        return f"{self.plural}.{group}" if group else self.plural


def group_of(api_version: str) -> str:
    return api_version.rpartition("/")[0]


def defined_by(crd: Mapping[str, Any]) -> list[Resource]:
    """The kinds that a CustomResourceDefinition defines."""
    spec = crd.get("spec") or {}
    names = spec.get("names") or {}
    return [
        Resource(
            f"{spec.get('group')}/{version.get('name')}",
            str(names.get("kind")),
            str(names.get("plural")),
            spec.get("scope") == "Namespaced",
        )
        for version in spec.get("versions") or ()
        if version.get("served", True)
    ]


class Discovery:
    """The kinds of one server, by group and version."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._asking: dict[str, threading.Lock] = {}
        self._versions: dict[str, tuple[float, dict[str, Resource]]] = {}

    def find(self, get: Get, api_version: str, kind: str) -> Resource | None:
        found = self._version(get, api_version, float("-inf")).get(kind)
        return found or self._version(get, api_version, time.monotonic() - AGAIN_SECONDS).get(kind)

    def add(self, resources: Iterable[Resource]) -> None:
        """Kinds that are known to be served, because their definition is."""
        with self._lock:
            for one in resources:
                self._versions.setdefault(one.api_version, (0.0, {}))[1][one.kind] = one

    def suggestion(self, get: Get, api_version: str, kind: str) -> str:
        """What may have been meant by a kind that is not there."""
        here = self._version(get, api_version, float("-inf"))
        close = nearest(kind, here)
        if close:
            return f'; did you mean kind "{close}"?'
        elsewhere = [
            version
            for version in _all_versions(get)
            if kind in self._version(get, version, float("-inf"))
        ]
        return f'; the server has it as apiVersion "{elsewhere[0]}"' if elsewhere else ""

    def _version(self, get: Get, api_version: str, not_before: float) -> dict[str, Resource]:
        with self._lock:
            version_lock = self._asking.setdefault(api_version, threading.Lock())
        with version_lock:
            asked, known = self._versions.get(api_version, (float("-inf"), {}))
            if api_version not in self._versions or asked < not_before:
                known = {**known, **_served(get, api_version)}
                with self._lock:
                    self._versions[api_version] = time.monotonic(), known
            return known


def _served(get: Get, api_version: str) -> dict[str, Resource]:
    listed = get("/api/v1" if api_version == "v1" else f"/apis/{quote(api_version)}") or {}
    return {
        entry["kind"]: Resource(
            api_version,
            entry["kind"],
            entry["name"],
            bool(entry.get("namespaced")),
            frozenset(entry.get("verbs") or ()),
        )
        for entry in listed.get("resources") or ()
        if "/" not in entry["name"]
    }


def _all_versions(get: Get) -> list[str]:
    groups = (get("/apis") or {}).get("groups") or ()
    return [
        "v1",
        *(version["groupVersion"] for group in groups for version in group.get("versions") or ()),
    ]
