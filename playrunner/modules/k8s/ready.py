"""k8s.ready: wait until something in a cluster is ready, by what that means for its kind."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, ClassVar

from playrunner.hostside.module import Action, Failed
from playrunner.kube.client.errors import KubeError
from playrunner.kube.client.resource import Resource, defined_by
from playrunner.kube.objects.manifest import inline, title
from playrunner.kube.objects.wait import explained
from playrunner.kube.watch.readiness import (
    Readiness,
    addresses,
    allocatable,
    condition,
    readiness_of,
)
from playrunner.kube.watch.reasons import refusal
from playrunner.kube.watch.watch import Collection, Objects, watch_until
from playrunner.modules.k8s._kinds import api_version_of, selector_text

if TYPE_CHECKING:
    from playrunner.run.context import Context

ENDPOINTS = Resource("v1", "Endpoints", "endpoints", True)
DEFINITIONS = Resource(
    "apiextensions.k8s.io/v1", "CustomResourceDefinition", "customresourcedefinitions", False
)
FIRST_PAUSE, LONGEST_PAUSE = 0.2, 2.0
_WHAT = ("kind", "endpoints", "dry_run")


class Ready(Action):
    """Waits by watches and changes nothing. What is ready: a Deployment whose pods are
    available, a DaemonSet on every node it belongs on (also when that is none), a Job that
    completed, a CRD that is Established, a claim that is Bound, ..."""

    in_background: ClassVar[bool] = True

    kind: str = ""  # of the objects to wait for
    api_version: str = ""  # of the kind, where it is not the usual one
    name: str = ""  # of one object
    selector: Any = ""  # the labels of several
    namespace: str = ""  # by default the context's
    count: int = 1  # how many there must be, at least
    condition: str = ""  # wait for this instead, as Available or Progressing=False
    devices: dict[str, int] = {}  # of nodes: what each must offer, as nvidia.com/gpu: 8
    gone: bool = False  # wait until there is none
    endpoints: str = ""  # or: a service that must have pods behind it
    # or: an object whose dry run must be answered, by the server and its webhooks
    dry_run: Any = None
    timeout: float = 300  # seconds
    after: Any = None  # values of steps that must be there first

    @classmethod
    def check(cls, arguments: dict[str, Any]) -> str | None:
        given = [name for name in _WHAT if arguments.get(name)]
        if len(given) != 1:
            return f"give one of {', '.join(_WHAT)}" + (
                f", not {' and '.join(given)}" if given else ""
            )
        both = arguments.get("name") and arguments.get("selector")
        return "give a name or a selector, not both" if both else None

    def guard(self, ctx: Context) -> dict[str, Any] | None:
        missing, values = self._waited(ctx, 0.0)
        return None if missing else {"ready": True, **values}

    def act(self, ctx: Context) -> dict[str, Any]:
        missing, values = self._waited(ctx, self.timeout)
        if missing:
            things = values.pop("things", [])
            raise Failed(
                explained(ctx.kube, f"not ready within {self.timeout:g} seconds: {missing}", things)
            )
        return {"changed": False, "ready": True, **values}

    def _waited(self, ctx: Context, seconds: float) -> tuple[str, dict[str, Any]]:
        """What is missing when the time is over, and what was found."""
        if self.dry_run:
            return self._answered(ctx, seconds), {}
        if self.endpoints:
            return self._backed(ctx, seconds)
        until = time.monotonic() + seconds
        resource = self._served(ctx, seconds)
        if resource is None:
            return (
                (
                    f'the server has no kind "{self.kind}" in'
                    f" {self.api_version or api_version_of(self.kind)}"
                ),
                {},
            )
        home = Collection(
            resource,
            (self.namespace or ctx.kube.namespace) if resource.namespaced else "",
            selector_text(self.selector),
            f"metadata.name={self.name}" if self.name else "",
        )
        last: list[dict[str, Any]] = []

        def judge(seen: dict[Collection, Objects]) -> str:
            last[:] = [
                {"apiVersion": resource.api_version, "kind": resource.kind, **thing}
                for thing in seen[home].values()
            ]
            return self._missing(last, ctx, seconds > 0)

        missing = watch_until(
            ctx.kube, [home], judge, until - time.monotonic() if seconds else 0.0, ctx.progress
        )
        names = sorted(
            str(thing["metadata"]["name"]) for thing in last if self._judged(thing).ready
        )
        return missing, {"things": last} if missing else {"names": names, "count": len(names)}

    def _missing(self, things: list[dict[str, Any]], ctx: Context, waits: bool) -> str:
        if self.gone:
            return f"{title(things[0])} is still there" if things else ""
        judged = [(thing, self._judged(thing)) for thing in things]
        broken = next(
            (
                f"{title(thing)} {readiness.broken}"
                for thing, readiness in judged
                if readiness.broken
            ),
            "",
        )
        if broken and waits:
            raise Failed(
                explained(
                    ctx.kube, broken, [thing for thing, readiness in judged if readiness.broken]
                )
            )
        ready = sum(readiness.ready for _, readiness in judged)
        # Of nodes there may be more than are needed, and some of them broken; of everything else
        # all must be ready.
        waiting = [
            f"{title(thing)}: {readiness.missing}"
            for thing, readiness in judged
            if not readiness.ready
        ]
        if ready >= self.count and (self.kind == "Node" or not waiting):
            return ""
        what = f"{self.kind} {self.name or selector_text(self.selector)}".strip()
        return (
            "; ".join(
                [
                    (
                        f"{what}: {ready} of {max(self.count, 1)} ready"
                        if self.count > 1 or not things
                        else ""
                    ),
                    *waiting[:3],
                ]
            ).removeprefix("; ")
            if things
            else f"{what} is not there"
        )

    def _judged(self, thing: dict[str, Any]) -> Readiness:
        if self.condition:
            return condition(thing, self.condition)
        readiness = readiness_of(thing)
        if readiness.ready:
            for device, wanted in (self.devices or {}).items():
                if allocatable(thing, device) < int(wanted):
                    return Readiness(f"offers {allocatable(thing, device)} of {wanted} {device}")
        return readiness

    def _served(self, ctx: Context, seconds: float) -> Resource | None:
        """The kind, once its definition has come."""
        version = self.api_version or api_version_of(self.kind)
        found: Resource | None = ctx.kube.resource(version, self.kind)
        if found or not seconds or "." not in version:
            return found

        def judge(seen: dict[Collection, Objects]) -> str:
            for thing in (thing for objects in seen.values() for thing in objects.values()):
                resources = [
                    one
                    for one in defined_by(thing)
                    if (one.api_version, one.kind) == (version, self.kind)
                ]
                if resources and readiness_of({**thing, "kind": DEFINITIONS.kind}).ready:
                    ctx.kube.cluster.discovery.add(resources)
                    return ""
            return f"no definition of {self.kind} ({version}) is Established yet"

        watch_until(ctx.kube, [Collection(DEFINITIONS)], judge, seconds, ctx.progress)
        return ctx.kube.resource(version, self.kind)  # type: ignore[no-any-return]

    def _backed(self, ctx: Context, seconds: float) -> tuple[str, dict[str, Any]]:
        namespace = self.namespace or ctx.kube.namespace
        homes = [
            Collection(
                ENDPOINTS,
                namespace,
                fields=f"metadata.name={self.endpoints}",
            )
        ]
        slices = ctx.kube.resource("discovery.k8s.io/v1", "EndpointSlice")
        if slices:
            homes.append(
                Collection(slices, namespace, f"kubernetes.io/service-name={self.endpoints}")
            )
        most = [0]

        def judge(seen: dict[Collection, Objects]) -> str:
            most[0] = max(
                (
                    sum(
                        addresses({"kind": home.resource.kind, **thing})
                        for thing in objects.values()
                    )
                    for home, objects in seen.items()
                ),
                default=0,
            )
            what = f"service {namespace}/{self.endpoints}"
            return (
                ""
                if most[0] >= self.count
                else f"{what} has {most[0]} of {self.count} pods behind it"
            )

        return watch_until(ctx.kube, homes, judge, seconds, ctx.progress), {"addresses": most[0]}

    def _answered(self, ctx: Context, seconds: float) -> str:
        """Whether a dry run is answered; there is nothing to watch for here, so it is asked again
        after a pause."""
        wanted, pause, until = inline(self.dry_run)[0], FIRST_PAUSE, time.monotonic() + seconds
        while True:
            missing = self._tried(ctx, wanted.body)
            if not missing or time.monotonic() >= until:
                return missing
            ctx.progress(missing)
            ctx.sleep(pause)
            pause = min(2 * pause, LONGEST_PAUSE)

    def _tried(self, ctx: Context, body: dict[str, Any]) -> str:
        resource = ctx.kube.resource(body["apiVersion"], body["kind"])
        if resource is None:
            return f'the server has no kind "{body["kind"]}" in {body["apiVersion"]}'
        home = body["metadata"].get("namespace") or self.namespace or ctx.kube.namespace
        placed = {
            **body,
            "metadata": {
                **body["metadata"],
                **({"namespace": home} if resource.namespaced else {}),
            },
        }
        try:
            ctx.kube.apply(resource, placed, force=True, dry=True)
        except KubeError as error:
            if error.webhook_silent or error.not_found:
                return f"dry run of {title(placed)}: {refusal(error)}"
            if error.invalid:
                raise Failed(f"dry run of {title(placed)}: {refusal(error)}") from None
        return ""  # a webhook that refuses it does answer
