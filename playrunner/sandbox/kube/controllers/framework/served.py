"""Which kinds the API serves, asked of its discovery: for those who look after objects of every
kind."""

from __future__ import annotations

import threading
import time
from dataclasses import replace

from playrunner.sandbox.kube.controllers.framework.client import Api
from playrunner.sandbox.kube.controllers.framework.controller_context import ControllerContext
from playrunner.sandbox.kube.controllers.framework.resources import DEFINITIONS, Object, Resource

KEPT_SECONDS = 2.0
_NEEDED = {"list", "watch", "delete"}


class Served:
    """Shared as `context.the(Served)`; asked again after a while, since definitions come and go."""

    def __init__(self, context: ControllerContext) -> None:
        self._api: Api = context.api
        self._definitions = context.see(DEFINITIONS)
        self._lock = threading.Lock()
        self._found: list[Resource] = []
        self._until = 0.0

    def all(self) -> list[Resource]:
        """One of each kind that can be listed, watched and deleted, in the version that the server
        prefers."""
        with self._lock:
            if time.monotonic() > self._until:
                self._found = self._ask()
                self._until = time.monotonic() + KEPT_SECONDS
            return self._found

    def of(self, api_version: str, kind: str) -> Resource | None:
        """By the words of an owner reference; versions of one kind are the same objects."""
        group = api_version.rpartition("/")[0]
        return next((one for one in self.all() if (one.group, one.kind) == (group, kind)), None)

    def _ask(self) -> list[Resource]:
        groups = [("", "v1")]
        for entry in self._api.call("GET", "/apis")["groups"]:
            groups.append((entry["name"], entry["preferredVersion"]["version"]))
        resources = []
        for group, version in groups:
            listed = self._api.call(
                "GET", f"/apis/{group}/{version}" if group else f"/api/{version}"
            )
            resources += [
                self._resource(group, version, served)
                for served in listed["resources"]
                if "/" not in served["name"]
                and set(served["verbs"]) >= _NEEDED
                and served["name"] != "events"
            ]
        return resources

    def _resource(self, group: str, version: str, one: Object) -> Resource:
        found = Resource(group, version, one["name"], one["kind"], one["namespaced"])
        return replace(found, custom=self._definitions.get("", found.definition) is not None)
