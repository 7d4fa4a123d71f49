"""What all controllers share: the API, one view of each kind, writing that the views see at once,
events, and a folder."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from datetime import UTC, datetime
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import Any, TypeVar

from playrunner.sandbox.kube.controllers.framework.client import MERGE, Api, ApiError
from playrunner.sandbox.kube.controllers.framework.resources import (
    DEFINITIONS,
    EVENTS,
    Object,
    Resource,
    key_of,
    uid_of,
)
from playrunner.sandbox.kube.controllers.framework.view import View

COMPONENT = "sandbox-controllers"
T = TypeVar("T")


def now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def seconds_since(moment: str) -> float:
    """Of a time as objects carry it."""
    return (datetime.now(UTC) - datetime.fromisoformat(moment)).total_seconds()


class ControllerContext:
    """One cluster, as its controllers know it."""

    def __init__(self, api: Api, folder: Path) -> None:
        """`folder` has the certificates of the API and is where pods, volumes and logs are kept."""
        self.api, self.folder = api, folder
        self._views: dict[Resource, View] = {}
        self._lock = threading.Lock()
        self._served = threading.Condition()
        # The uid of the definition that each view began with; empty where there was none
        self._served_by: dict[Resource, str] = {}
        self._shared: dict[type[Any], Any] = {}
        self._making = threading.RLock()

    @cached_property
    def pretend(self) -> bool:
        """Whether the API is ours, which does some of a controller manager's work by itself."""
        try:
            self.api.call("GET", "/_sandbox/health")
        except ApiError:
            return False
        return True

    def see(self, resource: Resource) -> View:
        """The one view of a kind; started when it is first asked for."""
        if resource.custom:
            self.see(DEFINITIONS)
        with self._lock:
            known = self._views.get(resource)
            if known is not None:
                return known
            view = View(
                self.api,
                resource,
                *([lambda seconds: self._is_served(resource, seconds)] if resource.custom else []),
            )
            self._views[resource] = view
        if resource == DEFINITIONS:
            view.listen(self._definition_changed)
        view.start()
        return view

    def the(self, kind: type[T]) -> T:
        """The one object of this class that all controllers share; made with this context when it
        is first asked for."""
        with self._making:
            if kind not in self._shared:
                self._shared[kind] = kind(self)  # type: ignore[call-arg]
            found: T = self._shared[kind]
            return found

    def create(self, resource: Resource, obj: Object, namespace: str = "") -> Object:
        """Make it; its kind, and its namespace where it has none, are filled in."""
        within = obj["metadata"].get("namespace") or namespace
        body = {"apiVersion": resource.api_version, "kind": resource.kind, **obj}
        return self._heard(resource, self.api.call("POST", resource.path(within), body))

    def replace(self, resource: Resource, obj: Object, part: str = "") -> Object:
        """Put it as it is given: refused (409) when it changed since it was read."""
        return self._heard(resource, self.api.call("PUT", resource.path(*key_of(obj), part), obj))

    def patch(self, resource: Resource, obj: Object, patch: Object, part: str = "") -> Object:
        """A merge patch: lists are replaced whole, None removes a field."""
        return self._heard(
            resource, self.api.call("PATCH", resource.path(*key_of(obj), part), patch, form=MERGE)
        )

    def patch_status(self, resource: Resource, obj: Object, status: Object) -> Object:
        """Set these fields of the status; asks nothing of the API when they are so already."""
        status_now = obj.get("status") or {}
        # Servers leave out what is zero or empty.
        if all((status_now.get(name) or None) == (value or None) for name, value in status.items()):
            return obj
        return self.patch(resource, obj, {"status": status}, "status")

    def delete(
        self,
        resource: Resource,
        obj: Object,
        grace: int | None = None,
        propagation: str = "Background",
    ) -> None:
        """Have it go, if it is still the same; nothing to do when it went."""
        options: Object = {"preconditions": {"uid": uid_of(obj)}, "propagationPolicy": propagation}
        if grace is not None:
            options["gracePeriodSeconds"] = grace
        try:
            self.api.call(
                "DELETE",
                resource.path(*key_of(obj)),
                {"apiVersion": "v1", "kind": "DeleteOptions", **options},
            )
        except ApiError as error:
            if not error.passes:
                raise
        self.see(resource).mark_leaving(obj)

    def event(
        self, about: Object, kind: str, reason: str, message: str, component: str = COMPONENT
    ) -> None:
        """Tell people: `kind` is Normal or Warning. The same again only counts up."""
        namespace, name = key_of(about)
        fingerprint = sha256(
            "\n".join((uid_of(about), kind, reason, message, component)).encode()
        ).hexdigest()[:16]
        event = _event(about, f"{name}.{fingerprint}", kind, reason, message, component)
        try:
            self.api.call("POST", EVENTS.path(namespace or "default"), event)
        except ApiError as error:
            if error.code == 409 and error.reason == "AlreadyExists":
                self._count_up(EVENTS.path(namespace or "default", f"{name}.{fingerprint}"))
            # A namespace that is being emptied takes no more; an event is no reason to fail.
            elif error.code not in (403, 404, 409):
                raise

    def _count_up(self, place: str) -> None:
        count = int(self.api.call("GET", place).get("count") or 1) + 1
        self.api.call("PATCH", place, {"count": count, "lastTimestamp": now()}, form=MERGE)

    def _heard(self, resource: Resource, answer: Any) -> Object:
        one: Object = answer
        if one.get("kind") == resource.kind:
            self.see(resource).offer(one)
        return one

    def _is_served(self, resource: Resource, seconds: float) -> bool:
        with self._served:
            self._served.wait_for(lambda: self._serving(resource), seconds)
            self._served_by[resource] = self._serving(resource)
            return bool(self._served_by[resource])

    def _serving(self, resource: Resource) -> str:
        """The uid of the definition that serves this kind; empty where none does."""
        found = self.see(DEFINITIONS).get("", resource.definition)
        conditions: Iterable[Object] = (found or {}).get("status", {}).get("conditions") or ()
        named = (found or {}).get("spec", {}).get("versions") or ()
        served = any(each["name"] == resource.version and each.get("served") for each in named)
        established = any(
            each["type"] == "Established" and each["status"] == "True" for each in conditions
        )
        return uid_of(found) if found and served and established else ""

    def _definition_changed(self, one: Object) -> None:
        with self._served:
            self._served.notify_all()
            began_with = [
                (resource, uid)
                for resource, uid in self._served_by.items()
                if resource.definition == one["metadata"]["name"]
            ]
            for resource, uid in began_with:
                if uid != self._serving(resource):
                    self.see(resource).begin_anew()


def _event(
    about: Object, name: str, kind: str, reason: str, message: str, component: str
) -> Object:
    moment = now()
    namespace = about["metadata"].get("namespace", "")
    involved = {
        "apiVersion": about.get("apiVersion", "v1"),
        "kind": about["kind"],
        "name": about["metadata"]["name"],
        "uid": uid_of(about),
        "resourceVersion": about["metadata"].get("resourceVersion", ""),
    }
    if namespace:
        involved["namespace"] = namespace
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": name, "namespace": namespace or "default"},
        "involvedObject": involved,
        "type": kind,
        "reason": reason,
        "message": message,
        "count": 1,
        "firstTimestamp": moment,
        "lastTimestamp": moment,
        "source": {"component": component},
        "reportingComponent": component,
        "reportingInstance": "",
    }
