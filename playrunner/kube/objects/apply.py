"""Apply and delete a set of objects in dependency order: rank by rank, the objects of a rank in
parallel, waiting by watches."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

from playrunner.errors import BadInput
from playrunner.hostside.module import Failed
from playrunner.kube.client.client import Kube
from playrunner.kube.client.errors import KubeError
from playrunner.kube.client.resource import Resource, defined_by
from playrunner.kube.objects.manifest import Manifest
from playrunner.kube.objects.order import CUSTOM, rank, ranked
from playrunner.kube.objects.set_objects import DeclaredObject, Identity, LiveObject
from playrunner.kube.watch.readiness import readiness_of
from playrunner.kube.watch.reasons import finalizers, refusal
from playrunner.kube.watch.watch import Collection, Objects, watch_until

SERVED_SECONDS = 15.0  # from Established on until the server really answers for a new kind
FIRST_PAUSE, LONGEST_PAUSE = 0.2, 2.0

Answer = TypeVar("Answer")
NAMESPACES = Resource("v1", "Namespace", "namespaces", False)
_FIELD = re.compile(
    r'unknown field "([^"]+)"|(?:^|[ :])(\.[A-Za-z][\w.\[\]]*): (?:field not|expected )'
)


class SetApplier:
    """One pass over a set, which must be done within its time."""

    def __init__(
        self, kube: Kube, force: bool, seconds: float, progress: Callable[[str], None]
    ) -> None:
        self.kube, self.force, self.progress = kube, force, progress
        self.deadline = time.monotonic() + seconds

    def dry_run(
        self, declared: DeclaredObject, exists: bool, new_namespaces: Sequence[str]
    ) -> dict[str, Any] | None:
        """The object as applying would leave it, by the server's dry run; None where the server
        cannot tell yet. Raises what the server refuses."""
        if not declared.served:
            return None
        body = declared.body
        if declared.namespace in new_namespaces:
            # The set itself creates the namespace; a wrong field shows in any other.
            body = {**body, "metadata": {**body["metadata"], "namespace": "default"}}
        try:
            preview = self.kube.apply(declared.resource, body, force=self.force, dry=True)
            return preview if body is declared.body else None
        except KubeError as error:
            if error.webhook_silent or error.terminating or error.comes_before:
                self.progress(f"{declared.key}: {_retry_reason(error)}")
                return None
            if body is not declared.body and not error.invalid:
                return None  # refused for reasons of the other namespace
            if not exists and error.missing_kind == "namespaces":
                raise BadInput(
                    f'metadata.namespace: there is no namespace "{declared.namespace}"; declare it'
                    " in the set",
                    declared.manifest.place("metadata.namespace"),
                ) from None
            raise located(error, declared.manifest) from None

    def apply(self, objects: Iterable[DeclaredObject]) -> None:
        """Create or update these, in dependency order."""
        for group in ranked(objects):
            self.progress(f"applying {_summary(group)}")
            self.kube.note("call", call="k8s.apply", objects=[declared.key for declared in group])
            if group[0].kind == "Namespace":
                self._wait_for_terminating_namespaces(group)
            applied = self.kube.together(self._apply_object, group)
            definitions = [
                LiveObject(declared.resource, body)
                for declared, body in zip(group, applied, strict=True)
                if declared.kind == "CustomResourceDefinition"
            ]
            if definitions:
                self._wait_until_served(definitions)
            self.kube.note("answer", call="k8s.apply", outcome="done")

    def delete(self, objects: Iterable[LiveObject], selector: str) -> None:
        """Delete these in reverse order, and wait after each rank until its objects are gone."""
        for group in ranked(objects, backwards=True):
            self.progress(f"deleting {_summary(group)}")
            self.kube.note("call", call="k8s.delete", objects=[live.key for live in group])
            self.kube.together(
                lambda live: self.kube.delete(live.resource, live.namespace, live.name, live.uid),
                group,
            )
            self._wait_until_gone(group, selector)
            self.kube.note("answer", call="k8s.delete", outcome="done")

    def retrying(self, do: Callable[[], Answer], what: str, new_kind: bool = False) -> Answer:
        """Call again while the reason of a refusal may pass: a webhook that is not up yet, a
        namespace that is being deleted, a kind that is not served yet."""
        started, pause = time.monotonic(), FIRST_PAUSE
        while True:
            try:
                return do()
            except KubeError as error:
                unserved = (
                    new_kind and error.not_found and time.monotonic() - started < SERVED_SECONDS
                )
                if time.monotonic() > self.deadline or not (
                    error.webhook_silent or error.terminating or error.comes_before or unserved
                ):
                    raise
                self.progress(f"{what}: {_retry_reason(error)}")
            self.kube.sleep(pause)
            pause = min(2 * pause, LONGEST_PAUSE)

    def _apply_object(self, declared: DeclaredObject) -> dict[str, Any]:
        try:
            return self.retrying(
                lambda: self.kube.apply(declared.resource, declared.body, force=self.force),
                declared.key,
                rank(declared) == CUSTOM,
            )
        except KubeError as error:
            raise located(error, declared.manifest) from None

    def _wait_until_served(self, definitions: Sequence[LiveObject]) -> None:
        if all(readiness_of(live.body).ready for live in definitions):
            served = [live.body for live in definitions]
        else:
            served = self._wait_until_established(definitions)
        self.kube.cluster.discovery.add(
            resource for body in served for resource in defined_by(body)
        )

    def _wait_until_established(self, definitions: Sequence[LiveObject]) -> list[dict[str, Any]]:
        names = {live.name for live in definitions}
        collection = Collection(
            definitions[0].resource,
            fields=f"metadata.name={min(names)}" if len(names) == 1 else "",
        )
        last: Objects = {}

        def missing(seen: dict[Collection, Objects]) -> str:
            last.clear()
            last.update({key: body for key, body in seen[collection].items() if key[1] in names})
            states = {name: readiness_of(body) for (_, name), body in last.items()}
            for name, readiness in states.items():
                if readiness.broken:
                    raise Failed(f"CustomResourceDefinition {name}: {readiness.broken}")
            waiting = [name for name in names if name not in states or not states[name].ready]
            return (
                f"CustomResourceDefinition {waiting[0]} is not Established yet" if waiting else ""
            )

        still_missing = watch_until(self.kube, [collection], missing, self._left(), self.progress)
        if still_missing:
            raise Failed(f"{still_missing}; see: kubectl describe crd")
        return list(last.values())

    def _wait_for_terminating_namespaces(self, group: Sequence[DeclaredObject]) -> None:
        """A namespace that is being deleted must be gone before it can be created again."""
        current = [self.kube.get(NAMESPACES, "", declared.name) for declared in group]
        terminating = [
            LiveObject(NAMESPACES, {"kind": "Namespace", "metadata": {"name": meta["name"]}})
            for meta in (namespace["metadata"] for namespace in current if namespace)
            if meta.get("deletionTimestamp")
        ]
        if terminating:
            self._wait_until_gone(terminating, "")

    def _wait_until_gone(self, group: Sequence[LiveObject], selector: str) -> None:
        collections = {
            (live.resource, live.namespace): Collection(live.resource, live.namespace, selector)
            for live in group
        }
        uids = {live.identity: live.uid for live in group}
        remaining: dict[Identity, LiveObject] = {}

        def missing(seen: dict[Collection, Objects]) -> str:
            remaining.clear()
            for collection, objects in seen.items():
                for live in (LiveObject(collection.resource, body) for body in objects.values()):
                    if live.identity in uids and uids[live.identity] in ("", live.uid):
                        remaining[live.identity] = live
            return f"{_summary(list(remaining.values()))} still terminating" if remaining else ""

        if watch_until(self.kube, list(collections.values()), missing, self._left(), self.progress):
            stuck = [finalizers(live.body, live.resource.spelled) for live in remaining.values()]
            raise Failed(
                "; ".join(stuck[:3]) + (f"; and {len(stuck) - 3} more" if len(stuck) > 3 else "")
            )

    def _left(self) -> float:
        return max(0.1, self.deadline - time.monotonic())


def located(error: KubeError, manifest: Manifest) -> Failed:
    """A refusal with the file and line of the declaration it is about."""
    field = next((str(cause["field"]) for cause in error.causes if cause.get("field")), "")
    place = manifest.place(field or _field_in(error.message))
    return Failed(f"{f'{place}: ' if place else ''}{manifest.title}: {refusal(error)}")


def _field_in(message: str) -> str:
    """The field in an API server's message, which has it nowhere else: `.spec.replicsa: field not
    declared in schema`, `unknown field "spec.replicsa"`."""
    match = _FIELD.search(message)
    return (match[1] or match[2]).lstrip(".") if match else ""


def _retry_reason(error: KubeError) -> str:
    if error.webhook_silent:
        return f"waiting for an admission webhook: {refusal(error)}"
    if error.comes_before:
        return "an object that it names is not seen yet"
    return "its namespace is being deleted" if error.terminating else "its kind is not served yet"


def _summary(group: Sequence[DeclaredObject | LiveObject]) -> str:
    return group[0].key if len(group) == 1 else f"{group[0].key} and {len(group) - 1} more"
