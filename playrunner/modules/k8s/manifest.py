"""k8s.manifest: objects that are declared together, applied in order, waited for together, and
deleted together."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from playrunner.errors import HostUnreachable, PlayrunnerError
from playrunner.hostside.module import Failed
from playrunner.hostside.state import Change, State
from playrunner.kube.nodes.contract import still_offered
from playrunner.kube.objects.apply import SetApplier
from playrunner.kube.objects.applyset import ObjectSet, record_entries
from playrunner.kube.objects.compare import CLUSTER, SET, shown
from playrunner.kube.objects.custom_objects import live_objects
from playrunner.kube.objects.dry_run import DryRunPreview
from playrunner.kube.objects.manifest import Manifest as ManifestObject
from playrunner.kube.objects.set_objects import DeclaredObject, ObservedSet
from playrunner.kube.objects.source import from_address, from_file, from_playbook, from_template
from playrunner.kube.objects.wait import wait_ready
from playrunner.kube.watch.readiness import readiness_of
from playrunner.modules.k8s._base import KubeModule

if TYPE_CHECKING:
    from playrunner.run.context import Context

MOST_REMADE = 3
_SOURCES = ("template", "src", "definition", "url")


class Manifest(KubeModule):
    """A set of objects by server-side apply. Objects that are no longer declared are deleted; an
    object that exists without our label is refused. The set is found again by its name, so it can
    be deleted without its template."""

    identity: ClassVar[tuple[str, ...]] = ("name", "record")
    settle_seconds: ClassVar[float] = 3600  # its own waits end with `timeout`

    name: str  # of the set
    template: str = ""  # a file of manifests/, rendered with the step's variables
    src: str = ""  # a file that is taken as it is
    definition: Any = None  # an object, or a list of them
    url: str = ""  # an address to fetch them from, once
    sha256: str = ""  # the hash of what is at the address
    namespace: str = ""  # for objects that do not name theirs; by default the context's
    wait: bool = True  # until every object is ready
    prune: bool = True  # delete objects of the set that are no longer declared
    force: bool = False  # take over fields that another field manager owns
    adopt: bool = False  # take over objects that exist without our label
    leave: list[str] = []  # kinds of which an existing object that is not ours is used as it is
    # Do nothing where nodes offer this resource already and nothing of the set exists
    unless_offered: str = ""
    timeout: float = 300  # seconds for the set to be ready, or gone
    # Delete and create a workload whose pods wait for one of these reasons, at most 3 times
    # (CreateContainerConfigError)
    remake: list[str] = []
    record: str = "default"  # the namespace of the set's record

    @classmethod
    def check(cls, arguments: dict[str, Any]) -> str | None:
        sources = [name for name in _SOURCES if arguments.get(name)]
        return (
            f"give one of {', '.join(_SOURCES)}, not {' and '.join(sources)}"
            if len(sources) > 1
            else None
        )

    def observe(self, ctx: Context) -> State | None:
        if self.stands_on_nothing(ctx):
            return None
        observed = self._observed_or_recorded(ctx)
        if (
            not observed.ours
            and observed.recorded is None
            and not (self.adopt and observed.foreign)
        ):
            return None
        live_objects = {**observed.ours, **(observed.foreign if self.adopt else {})}
        texts = {live.key: shown(live.body, ctx.diff) for live in live_objects.values()}
        waiting = [
            f"{live.title}: {readiness.missing or readiness.broken}"
            for live in observed.ours.values()
            if not (readiness := readiness_of(live.body)).ready
        ]
        unseen = sorted(self._set(ctx).unseen)
        return {
            "set": self.name,
            "objects": sorted(texts),
            "waiting": waiting,
            **({"unseen": unseen} if unseen else {}),
            **texts,
        }

    def desired(self, ctx: Context, current: State | None) -> State | None:
        """The objects' present states where they are as declared, otherwise what a dry run
        answers."""
        observed = self._observed(ctx)
        if current is None and self.unless_offered:
            nodes = still_offered(ctx.kube, self.unless_offered, not ctx.check, ctx.progress)
            if nodes:
                ctx.warn(f"{nodes}: {self.name} is not installed")
                return None
        preview = ctx.once("dry runs", DryRunPreview)
        texts = preview.texts(
            self._applier(ctx), observed, self._to_apply(ctx, observed), current or {}, ctx.diff
        )
        stale = {live.key: None for live in observed.stale} if self.prune else {}
        return {**texts, **stale}

    def wait_until_ready(self, ctx: Context, state: State, attempts: int) -> State:
        if not self.wait:
            return state
        observed = self._observed(ctx)
        objects = [live for key in observed.declared if (live := observed.live(key))]
        give_up_on = tuple(self.remake or ()) if attempts <= MOST_REMADE else ()
        stuck = wait_ready(ctx.kube, objects, self.timeout, ctx.progress, give_up_on)
        return {**state, "held_up": stuck, "waiting": []}

    def apply(self, ctx: Context, change: Change) -> None:
        objects, applier = self._set(ctx), self._applier(ctx)
        if change.removes:
            applier.delete(self._observed_or_recorded(ctx).ours.values(), objects.selector)
            objects.delete_record()
            return
        observed = self._observed(ctx)
        declared = self._to_apply(ctx, observed)
        before, after = change.before or {}, change.after or {}
        remade = (change.observed or {}).get("held_up") or ()
        before_and_after = record_entries([*declared, *observed.ours.values()]) | (
            observed.recorded or frozenset()
        )
        applier.retrying(
            lambda: objects.write_record(before_and_after, observed.recorded), "the set's record"
        )
        applier.delete(
            [live for live in observed.ours.values() if live.key in remade], objects.selector
        )
        applier.apply(
            [
                item
                for item in declared
                if before.get(item.key) != after.get(item.key) or item.key in remade
            ]
        )
        if self.prune:
            applier.delete(observed.stale, objects.selector)
            applier.retrying(
                lambda: objects.write_record(record_entries(declared), before_and_after),
                "the set's record",
            )

    def broken(self, state: State) -> str | None:
        return (
            f"{', '.join(state['held_up'])}: pods are held up by {' or '.join(self.remake)}"
            if state.get("held_up")
            else None
        )

    def again(self, ctx: Context, state: State) -> bool:
        return True  # after MOST_REMADE times the wait is an ordinary one

    def ours(self, ctx: Context, state: State) -> bool:
        return True  # objects without our label are never part of the set's state

    def lost_with_it(self, ctx: Context) -> list[str]:
        """Objects of users whose definitions are in the set."""
        observed = self._observed_or_recorded(ctx)
        definitions = [
            live.body
            for live in observed.ours.values()
            if live.body.get("kind") == "CustomResourceDefinition"
        ]
        return live_objects(ctx.kube, definitions)

    def label(self, state: State) -> str:
        waiting = state.get("waiting") or ()
        unseen = " and ".join(state.get("unseen") or ())
        return (
            f"{len(state.get('objects') or ())} objects"
            + (f", without {unseen}, which you may not see" if unseen else "")
            + (f", waiting for {waiting[0]}" if waiting else "")
        )

    def _observed(self, ctx: Context) -> ObservedSet:
        """The set now. Steps share their reads, so looking again right after costs no request."""
        manifests = ctx.once("manifests", lambda: self._read(ctx))
        return self._set(ctx).observe(manifests, self.namespace or "")

    def _observed_or_recorded(self, ctx: Context) -> ObservedSet:
        """The same; without a declaration that can be read, the objects that the record lists: to
        look at a set or delete it needs no more."""
        try:
            return self._observed(ctx)
        except HostUnreachable:
            raise
        except (PlayrunnerError, Failed):
            return self._set(ctx).observe([], "")

    def _read(self, ctx: Context) -> list[ManifestObject]:
        if self.template:
            return from_template(ctx, self.template)
        if self.src:
            return from_file(ctx, self.src)
        if self.url:
            if not self.sha256:
                raise Failed(
                    f"{self.url} needs sha256 beside it: what is fetched must be known beforehand"
                )
            return from_address(self.url, self.sha256)
        if not self.definition:
            raise Failed(f"give one of {', '.join(_SOURCES)}")
        return from_playbook(self.definition)

    def _to_apply(self, ctx: Context, observed: ObservedSet) -> list[DeclaredObject]:
        """The declared objects without those left to others; refuses objects that are not ours."""
        objects = []
        for identity, item in observed.declared.items():
            foreign = observed.foreign.get(identity)
            if foreign is None or self.adopt:
                objects.append(item)
            elif item.kind not in (self.leave or ()):
                labels = foreign.labels
                whose = (
                    f'belongs to the set "{labels.get(SET)}" of "{labels[CLUSTER]}"'
                    if labels.get(CLUSTER)
                    else f"is not labelled {CLUSTER}={ctx.owner.cluster}"
                )
                raise Failed(
                    f"{foreign.title} already exists and {whose}; choose another name, take it over"
                    f" with adopt: true, or use it as it is with leave: [{item.kind}]"
                )
        return objects

    def _set(self, ctx: Context) -> ObjectSet:
        record = self.record or "default"
        return ctx.once(
            "set", lambda: ObjectSet(ctx.kube, ctx.owner, self.name, record, ctx.only_shows)
        )

    def _applier(self, ctx: Context) -> SetApplier:
        return SetApplier(ctx.kube, bool(self.force), float(self.timeout or 300), ctx.progress)
