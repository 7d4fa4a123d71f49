"""k8s.proof: a small object that an operator must act on; it goes again."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, ClassVar

from playrunner.errors import HostUnreachable
from playrunner.hostside.module import Action, Failed
from playrunner.kube.client.errors import KubeError
from playrunner.kube.client.resource import Resource
from playrunner.kube.objects.apply import SetApplier
from playrunner.kube.objects.manifest import inline
from playrunner.kube.watch.explain import EVENTS, PODS
from playrunner.kube.watch.reasons import refusal
from playrunner.kube.watch.watch import Collection, Objects, watch_until

if TYPE_CHECKING:
    from playrunner.run.context import Context


class Proof(Action):
    """Creates the object, waits until its operator has made something for it (a pod, or a group of
    pods that its scheduler has spoken of), and deletes it: nothing is left, nothing has changed.
    Fails with what the object and its events say where nothing comes of it."""

    in_background: ClassVar[bool] = True

    definition: Any  # the object
    namespace: str = ""  # for an object that does not name its own; by default the context's
    groups: str = ""  # a kind of groups of pods, as scheduling.volcano.sh/v1beta1/PodGroup
    # Kinds that stand between the object and its pods, outermost first, as [batch/v1/Job]
    through: list[str] = []
    pods: int = 1  # how many it must get
    timeout: float = 120  # seconds
    after: Any = None  # values of steps that must be there first

    def guard(self, ctx: Context) -> dict[str, Any] | None:
        # Whether an operator acts shows only once there is something to act on.
        return {"unknown": True, "skipped": True, "proved": False} if ctx.check else None

    def act(self, ctx: Context) -> dict[str, Any]:
        (wanted,) = inline(self.definition)
        body = dict(wanted.body)
        body["metadata"] = {
            "namespace": self.namespace or ctx.kube.namespace,
            **body["metadata"],
        }
        resource = ctx.kube.known(str(body["apiVersion"]), str(body["kind"]))
        self._await_end_of_earlier(ctx, resource, body["metadata"])
        applier = SetApplier(ctx.kube, True, self.timeout, ctx.progress)
        try:
            made = applier.retrying(
                lambda: ctx.kube.apply(resource, body, force=True), str(body["kind"])
            )
        except KubeError as error:
            raise Failed(f"{body['kind']} {body['metadata']['name']}: {refusal(error)}") from None
        try:
            missing = self._waited(ctx, made)
            explanation = self._told(ctx, resource, made) if missing else ""
        finally:
            meta = made["metadata"]
            ctx.kube.delete(resource, meta["namespace"], meta["name"], meta["uid"])
        if missing:
            raise Failed(
                f"{body['kind']} {meta['name']} got {missing} within {self.timeout:g} seconds: its"
                f" operator does not act{explanation}"
            )
        return {"changed": False, "proved": True}

    def _await_end_of_earlier(self, ctx: Context, resource: Resource, meta: dict[str, Any]) -> None:
        """An object of this name that is still being deleted would be taken for ours, and what was
        made for it has the names of what is to come."""
        namespace, name = meta["namespace"], meta["name"]
        own = Collection(resource, namespace)
        homes = [own, Collection(PODS, namespace), *self._between(ctx, namespace)]

        def judge(seen: dict[Collection, Objects]) -> str:
            now = (seen[own].get((namespace, name)) or {}).get("metadata") or {}
            left = "deletionTimestamp" in now or any(
                owner.get("kind") == resource.kind
                and owner.get("name") == name
                and owner.get("uid") != now.get("uid")
                for home in homes[1:]
                for thing in seen[home].values()
                for owner in thing["metadata"].get("ownerReferences") or ()
            )
            return f"{namespace}/{name} of an earlier run is still being deleted" if left else ""

        watch_until(ctx.kube, homes, judge, self.timeout, ctx.progress)

    def _between(self, ctx: Context, namespace: str) -> list[Collection]:
        kinds = [name.rpartition("/") for name in self.through or ()]
        return [Collection(ctx.kube.known(version, kind), namespace) for version, _, kind in kinds]

    def _waited(self, ctx: Context, made: dict[str, Any]) -> str:
        """What did not come; nothing where it has."""
        namespace, title = made["metadata"]["namespace"], made["metadata"]["name"]
        homes = [Collection(PODS, namespace)]
        half = time.monotonic() + self.timeout / 2
        version, _, kind = self.groups.rpartition("/")
        groups = ctx.kube.resource(version, kind) if self.groups else None
        if groups:
            homes.append(Collection(groups, namespace))
        between = self._between(ctx, namespace)
        homes += between

        def judge(seen: dict[Collection, Objects]) -> str:
            owners = [made]
            for middle in between:
                owners += _owned(seen[middle], owners)
            if groups and any(
                _is_spoken_of(thing, late=time.monotonic() > half)
                for thing in _owned(seen[homes[1]], owners)
            ):
                return ""
            got = len(_owned(seen[homes[0]], owners))
            count = f"{got} of {self.pods} pods" if got else "no pod"
            return "" if got >= self.pods else f"{count} ({namespace}/{title})"

        return watch_until(ctx.kube, homes, judge, self.timeout, ctx.progress)

    def _told(self, ctx: Context, resource: Resource, made: dict[str, Any]) -> str:
        """What the object's conditions and events say."""
        meta = made["metadata"]
        try:
            ctx.kube.refresh()
            now = ctx.kube.get(resource, meta["namespace"], meta["name"]) or {}
            events = ctx.kube.listing(
                EVENTS, meta["namespace"], fields=f"involvedObject.uid={meta['uid']}"
            ).items
        except (KubeError, HostUnreachable):
            return ""
        said = [
            str(one.get("message")) for one in (now.get("status") or {}).get("conditions") or ()
        ]
        said += [str(one.get("message")) for one in events[-2:]]
        return f": {'; '.join(filter(None, said))}" if any(said) else ""


def _is_spoken_of(group: dict[str, Any], late: bool) -> bool:
    """Whether its scheduler has said that there is no room: a full cluster proves nothing against
    it. Some versions say so by the phase alone, which stands there from the beginning."""
    status = group.get("status") or {}
    held = [
        one
        for one in status.get("conditions") or ()
        if one.get("type") == "Unschedulable" and str(one.get("status")) == "True"
    ]
    return bool(held or (late and status.get("phase")))


def _owned(objects: Objects, owners: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [thing for thing in objects.values() if any(_of(thing, owner) for owner in owners)]


def _of(thing: dict[str, Any], made: dict[str, Any]) -> bool:
    owners = thing["metadata"].get("ownerReferences") or ()
    return any(owner.get("uid") == made["metadata"]["uid"] for owner in owners)
