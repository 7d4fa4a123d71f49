"""Bring a set there and take it away: rank by rank, side by side within one, each wait told by
watches."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

from playrunner.errors import BadInput
from playrunner.hostside.module import Failed
from playrunner.kube.client.client import Kube
from playrunner.kube.client.errors import KubeError
from playrunner.kube.client.resource import Resource, defined_by
from playrunner.kube.objects.applyset import Ident, Live, Wanted
from playrunner.kube.objects.manifest import Manifest
from playrunner.kube.objects.order import CUSTOM, rank, ranked
from playrunner.kube.watch.readiness import verdict
from playrunner.kube.watch.reasons import finalizers, refusal
from playrunner.kube.watch.watch import Collection, Objects, watch_until

SERVED_SECONDS = 15.0  # from Established on until the server really answers for a new kind
FIRST_PAUSE, LONGEST_PAUSE = 0.2, 2.0

Got = TypeVar("Got")
NAMESPACES = Resource("v1", "Namespace", "namespaces", False)


class Bringing:
    """One pass over a set, which must be done when its time is over."""

    def __init__(
        self, kube: Kube, force: bool, seconds: float, progress: Callable[[str], None]
    ) -> None:
        self.kube, self.force, self.progress = kube, force, progress
        self.deadline = time.monotonic() + seconds

    def foresee(self, one: Wanted, there: bool, namespaces: Sequence[str]) -> dict[str, Any] | None:
        """What applying would give, by the server's dry run; None where it cannot tell yet. What it
        refuses is raised."""
        if not one.served:
            return None
        body = one.body
        if (
            one.namespace in namespaces
        ):  # still to be made by the set itself: what is wrong with a field shows anywhere
            body = {**body, "metadata": {**body["metadata"], "namespace": "default"}}
        try:
            foreseen = self.kube.apply(one.resource, body, force=self.force, dry=True)
            return foreseen if body is one.body else None
        except KubeError as error:
            if error.webhook_silent or error.terminating:
                return None
            if body is not one.body and not error.invalid:
                return None  # refused for reasons of the other namespace
            if not there and error.not_found and "namespaces" in error.said:
                raise BadInput(
                    f'metadata.namespace: there is no namespace "{one.namespace}"; declare it in'
                    " the set",
                    one.manifest.place("metadata.namespace"),
                ) from None
            raise located(error, one.manifest) from None

    def apply(self, todo: Iterable[Wanted]) -> None:
        """Make or mend these, in their order."""
        for group in ranked(todo):
            self.progress(f"applying {_some(group)}")
            self.kube.note("call", call="k8s.apply", objects=[one.key for one in group])
            if group[0].kind == "Namespace":
                self._until_namespaces_left(group)
            made = self.kube.together(self._one, group)
            definitions = [
                Live(one.resource, thing)
                for one, thing in zip(group, made, strict=True)
                if one.kind == "CustomResourceDefinition"
            ]
            if definitions:
                self._until_served(definitions)
            self.kube.note("answer", call="k8s.apply", outcome="done")

    def remove(self, things: Iterable[Live], selector: str) -> None:
        """Take these away, last rank first, and wait for each rank until it is gone."""
        for group in ranked(things, backwards=True):
            self.progress(f"removing {_some(group)}")
            self.kube.note("call", call="k8s.delete", objects=[one.key for one in group])
            self.kube.together(
                lambda one: self.kube.delete(
                    one.resource,
                    one.namespace,
                    one.name,
                    str(one.thing["metadata"].get("uid") or ""),
                ),
                group,
            )
            self._until_gone(group, selector)
            self.kube.note("answer", call="k8s.delete", outcome="done")

    def patiently(self, do: Callable[[], Got], what: str, new_kind: bool = False) -> Got:
        """Again and again while what stands in the way may pass: a webhook that is not up yet, a
        namespace that is going."""
        started, pause = time.monotonic(), FIRST_PAUSE
        while True:
            try:
                return do()
            except KubeError as error:
                unserved = (
                    new_kind and error.not_found and time.monotonic() - started < SERVED_SECONDS
                )
                if time.monotonic() > self.deadline or not (
                    error.webhook_silent or error.terminating or unserved
                ):
                    raise
                self.progress(f"{what}: {_patience(error)}")
            self.kube.sleep(pause)
            pause = min(2 * pause, LONGEST_PAUSE)

    def _one(self, one: Wanted) -> dict[str, Any]:
        try:
            return self.patiently(
                lambda: self.kube.apply(one.resource, one.body, force=self.force),
                one.key,
                rank(one) == CUSTOM,
            )
        except KubeError as error:
            raise located(error, one.manifest) from None

    def _until_served(self, definitions: Sequence[Live]) -> None:
        names = {one.name for one in definitions}
        if all(verdict(one.thing).ready for one in definitions):
            served = [one.thing for one in definitions]
        else:
            resource = definitions[0].resource
            collection = Collection(
                resource, fields=f"metadata.name={min(names)}" if len(names) == 1 else ""
            )
            last: Objects = {}

            def judge(seen: dict[Collection, Objects]) -> str:
                last.clear()
                last.update(
                    {key: thing for key, thing in seen[collection].items() if key[1] in names}
                )
                broken = next(
                    (found for found in map(verdict, last.values()) if found.broken), None
                )
                if broken:
                    raise Failed(f"CustomResourceDefinition: {broken.broken}")
                waiting = [
                    name
                    for name in names
                    if ("", name) not in last or not verdict(last["", name]).ready
                ]
                return (
                    f"CustomResourceDefinition {waiting[0]} is not Established yet"
                    if waiting
                    else ""
                )

            missing = watch_until(self.kube, [collection], judge, self._left(), self.progress)
            if missing:
                raise Failed(f"{missing}; see: kubectl describe crd")
            served = list(last.values())
        self.kube.cluster.discovery.add(found for thing in served for found in defined_by(thing))

    def _until_namespaces_left(self, group: Sequence[Wanted]) -> None:
        """A namespace that is still on its way out must be gone before it can be made again."""
        going = {
            one.name
            for one in group
            if (self.kube.get(NAMESPACES, "", one.name) or {})
            .get("metadata", {})
            .get("deletionTimestamp")
        }
        if going:
            found = [
                Live(NAMESPACES, {"kind": "Namespace", "metadata": {"name": name}})
                for name in going
            ]
            self._until_gone(found, "")

    def _until_gone(self, group: Sequence[Live], selector: str) -> None:
        homes = {
            (one.resource, one.namespace): Collection(one.resource, one.namespace, selector)
            for one in group
        }
        uids = {one.ident: one.thing["metadata"].get("uid") for one in group}
        remaining: dict[Ident, Live] = {}

        def judge(seen: dict[Collection, Objects]) -> str:
            remaining.clear()
            for collection, objects in seen.items():
                for live in (Live(collection.resource, thing) for thing in objects.values()):
                    uid = live.thing["metadata"].get("uid")
                    if live.ident in uids and uids[live.ident] in (None, uid):
                        remaining[live.ident] = live
            return f"{_some(list(remaining.values()))} still going" if remaining else ""

        if watch_until(self.kube, list(homes.values()), judge, self._left(), self.progress):
            stuck = [finalizers(one.thing, one.resource.spelled) for one in remaining.values()]
            raise Failed(
                "; ".join(stuck[:3]) + (f"; and {len(stuck) - 3} more" if len(stuck) > 3 else "")
            )

    def _left(self) -> float:
        return max(0.1, self.deadline - time.monotonic())


def located(error: KubeError, manifest: Manifest) -> Failed:
    """A refusal with the place of the declaration it is about."""
    field = next((str(cause["field"]) for cause in error.causes if cause.get("field")), "")
    place = manifest.place(field or _field_in(error.said))
    return Failed(f"{f'{place}: ' if place else ''}{manifest.title}: {refusal(error)}")


def _field_in(said: str) -> str:
    """The field that a message speaks of: .spec.replicsa: field not declared in schema; unknown
    field "spec.replicsa"."""
    import re

    found = re.search(
        r'unknown field "([^"]+)"|(?:^|[ :])(\.[A-Za-z][\w.\[\]]*): (?:field not|expected )', said
    )
    return (found[1] or found[2]).lstrip(".") if found else ""


def _patience(error: KubeError) -> str:
    return (
        "an admission webhook does not answer yet"
        if error.webhook_silent
        else "its namespace is being deleted"
        if error.terminating
        else "its kind is not served yet"
    )


def _some(group: Sequence[Wanted | Live]) -> str:
    return group[0].key if len(group) == 1 else f"{group[0].key} and {len(group) - 1} more"
