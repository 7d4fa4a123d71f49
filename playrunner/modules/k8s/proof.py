"""k8s.proof: a small object that an operator must act on; it goes again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from playrunner.errors import HostUnreachable
from playrunner.hostside.module import Action, Failed
from playrunner.kube.client.errors import KubeError
from playrunner.kube.client.resource import Resource
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
    # A kind that stands between the object and its pods, as batch/v1/Job
    through: str = ""
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
        try:
            made = ctx.kube.apply(resource, body, force=True)
        except KubeError as error:
            raise Failed(f"{body['kind']} {body['metadata']['name']}: {refusal(error)}") from None
        try:
            missing = self._waited(ctx, made)
            told = self._told(ctx, resource, made) if missing else ""
        finally:
            meta = made["metadata"]
            ctx.kube.delete(resource, meta["namespace"], meta["name"], meta["uid"])
        if missing:
            raise Failed(
                f"{body['kind']} {meta['name']} got {missing} within {self.timeout:g} seconds: its"
                f" operator does not act{told}"
            )
        return {"changed": False, "proved": True}

    def _waited(self, ctx: Context, made: dict[str, Any]) -> str:
        """What did not come; nothing where it has."""
        namespace, name = made["metadata"]["namespace"], made["metadata"]["name"]
        homes = [Collection(PODS, namespace)]
        version, _, kind = self.groups.rpartition("/")
        groups = ctx.kube.resource(version, kind) if self.groups else None
        if groups:
            homes.append(Collection(groups, namespace))
        version, _, kind = self.through.rpartition("/")
        between = Collection(ctx.kube.known(version, kind), namespace) if self.through else None
        if between:
            homes.append(between)

        def judge(seen: dict[Collection, Objects]) -> str:
            owners = [made, *_owned(seen[between], made)] if between else [made]
            for home, objects in seen.items():
                for thing in () if home is between else objects.values():
                    spoken = home.resource is PODS or (thing.get("status") or {}).get("phase")
                    if spoken and any(_of(thing, owner) for owner in owners):
                        return ""
            return f"no pod ({namespace}/{name})"

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


def _owned(objects: Objects, made: dict[str, Any]) -> list[dict[str, Any]]:
    return [thing for thing in objects.values() if _of(thing, made)]


def _of(thing: dict[str, Any], made: dict[str, Any]) -> bool:
    owners = thing["metadata"].get("ownerReferences") or ()
    return any(owner.get("uid") == made["metadata"]["uid"] for owner in owners)
