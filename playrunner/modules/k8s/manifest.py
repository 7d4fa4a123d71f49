"""k8s.manifest: objects that are declared together, applied in order, waited for together, and
taken away together."""

from __future__ import annotations

from typing import Any, ClassVar

from playrunner.errors import HostUnreachable, PlayrunnerError
from playrunner.hostside.module import Failed
from playrunner.hostside.state import Change, State
from playrunner.kube.nodes.offers import still_offered
from playrunner.kube.objects.apply import Bringing
from playrunner.kube.objects.applyset import ObjectSet, Seen, Wanted, homes_of
from playrunner.kube.objects.compare import CLUSTER, SET, shown
from playrunner.kube.objects.dry_run import Outlook
from playrunner.kube.objects.manifest import Manifest as Declared
from playrunner.kube.objects.source import from_address, from_file, from_playbook, from_template
from playrunner.kube.objects.wait import wait_ready
from playrunner.kube.watch.readiness import verdict
from playrunner.modules.k8s._base import KubeModule

MOST_REMADE = 3
_SOURCES = ("template", "src", "definition", "url")


class Manifest(KubeModule):
    """A set of objects by server-side apply. What an earlier declaration made and this one does not
    goes; an object that is there without our label is refused. The set is found again by its name,
    so it can be removed without its template."""

    identity: ClassVar[tuple[str, ...]] = ("name", "record")
    settle_seconds: ClassVar[float] = 3600  # its own waits, told by watches, end with `timeout`

    name: str  # of the set
    template: str = ""  # a file of manifests/, rendered with the step's variables
    src: str = ""  # a file that is taken as it is
    definition: Any = None  # an object, or a list of them
    url: str = ""  # an address to fetch them from, once
    sha256: str = ""  # the hash of what is at the address
    namespace: str = ""  # for objects that do not name theirs; by default the context's
    wait: bool = True  # until every object is ready
    prune: bool = True  # take away what the set had and is not declared any more
    force: bool = False  # take over fields that another owns
    adopt: bool = False  # take over objects that are there without our label
    leave: list[str] = []  # kinds of which an object that is there and not ours is used as it is
    # Where nodes offer this resource and nothing of the set is there, it is left to whoever brings
    # it
    unless_offered: str = ""
    timeout: float = 300  # seconds for the set to be ready, or gone
    remake: list[
        str
        # When its pods are held up by one of these (CreateContainerConfigError), it is made anew, 3
        # times
    ] = []
    record: str = "default"  # the namespace of the set's record

    @classmethod
    def check(cls, arguments: dict[str, Any]) -> str | None:
        given = [name for name in _SOURCES if arguments.get(name)]
        return (
            f"give one of {', '.join(_SOURCES)}, not {' and '.join(given)}"
            if len(given) > 1
            else None
        )

    def __init__(self, **arguments: Any) -> None:
        super().__init__(**arguments)
        self._seen, self._outlook = Seen(), Outlook()
        self._manifests: list[Declared] | None = None
        self._problem: PlayrunnerError | Failed | None = None  # why the declaration cannot be read
        self._remade = 0

    def observe(self, ctx: Any) -> State | None:
        if self.stands_on_nothing(ctx):
            return None
        seen = self._seen = self._look(ctx)
        if not seen.ours and seen.homes is None and not (self.adopt and seen.foreign):
            return None
        there = {**seen.ours, **(seen.foreign if self.adopt else {})}
        texts = {live.key: shown(live.thing, ctx.diff) for live in there.values()}
        waiting = [
            f"{live.title}: {said.missing or said.broken}"
            for live in seen.ours.values()
            if not (said := verdict(live.thing)).ready
        ]
        return {"set": self.name, "objects": sorted(texts), "waiting": waiting, **texts}

    def desired(self, ctx: Any, found: State | None) -> State | None:
        """What is there where it is as declared, otherwise what the server foresees; a set that is
        all there is waited for."""
        if self._problem:
            raise self._problem
        if found is None and self.unless_offered:
            others = still_offered(ctx.kube, self.unless_offered, not ctx.check, ctx.progress)
            if others:
                ctx.warn(f"{others}: {self.name} is left to whoever brings it")
                return None
        seen, own = self._seen, self._own(ctx)
        texts = self._outlook.texts(self._bringing(ctx), seen, own, found or {}, ctx.diff)
        stale = {live.key: None for live in seen.stale} if self.prune else {}
        settled = not stale and all((found or {}).get(key) == text for key, text in texts.items())
        if found is not None and settled and self.wait and not ctx.check:
            things = [live for ident in seen.wanted if (live := seen.live(ident))]
            hopeless = tuple(self.remake or ()) if self._remade < MOST_REMADE else ()
            found.update(
                held_up=wait_ready(ctx.kube, things, self.timeout, ctx.progress, hopeless),
                waiting=[],
            )
        return {**texts, **stale}

    def apply(self, ctx: Any, change: Change) -> None:
        seen, objects, bringing = self._seen, self._set(ctx), self._bringing(ctx)
        if change.removes:
            bringing.remove(seen.ours.values(), objects.selector)
            objects.forget()
            return
        before, after = change.before or {}, change.after or {}
        own, again = self._own(ctx), (change.observed or {}).get("held_up") or ()
        everywhere = homes_of([*own, *seen.ours.values()]) | (seen.homes or frozenset())
        bringing.patiently(lambda: objects.remember(everywhere, seen.homes), "the set's record")
        if again:
            self._remade += 1
            bringing.remove(
                [live for live in seen.ours.values() if live.key in again], objects.selector
            )
        bringing.apply(
            [one for one in own if before.get(one.key) != after.get(one.key) or one.key in again]
        )
        if self.prune:
            bringing.remove(seen.stale, objects.selector)
            bringing.patiently(
                lambda: objects.remember(homes_of(own), everywhere), "the set's record"
            )

    def broken(self, state: State) -> str | None:
        return (
            f"{', '.join(state['held_up'])}: pods are held up by {' or '.join(self.remake)}"
            if state.get("held_up")
            else None
        )

    def again(self, ctx: Any, state: State) -> bool:
        return True  # and when it has been made anew often enough, it is waited for as any other

    def ours(self, ctx: Any, state: State) -> bool:
        return True  # what is not ours is never taken for a part of the set

    def label(self, state: State) -> str:
        waiting = state.get("waiting") or ()
        return f"{len(state.get('objects') or ())} objects" + (
            f", waiting for {waiting[0]}" if waiting else ""
        )

    def _look(self, ctx: Any) -> Seen:
        """One who only looks, or takes the set away, need not be able to read the declaration."""
        objects = self._set(ctx)
        try:
            if self._manifests is None:
                self._manifests = self._read(ctx)
            return objects.look(self._manifests, self.namespace or "")
        except HostUnreachable:
            raise
        except (PlayrunnerError, Failed) as problem:
            self._problem = problem
            return objects.look([], "")

    def _read(self, ctx: Any) -> list[Declared]:
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

    def _own(self, ctx: Any) -> list[Wanted]:
        """What is ours to apply: all that is declared, less what is left to others; what another
        made is refused."""
        found = []
        for ident, one in self._seen.wanted.items():
            other = self._seen.foreign.get(ident)
            if other is None or self.adopt:
                found.append(one)
            elif one.kind not in (self.leave or ()):
                labels = other.labels
                whose = (
                    f'belongs to the set "{labels.get(SET)}" of "{labels[CLUSTER]}"'
                    if labels.get(CLUSTER)
                    else f'does not carry the mark of "{ctx.owner.cluster}"'
                )
                raise Failed(
                    f"{other.title} exists and {whose}; give ours another name, take it over with"
                    f" adopt: true, or use it as it is with leave: [{one.kind}]"
                )
        return found

    def _set(self, ctx: Any) -> ObjectSet:
        return ObjectSet(ctx.kube, ctx.owner, self.name, self.record or "default")

    def _bringing(self, ctx: Any) -> Bringing:
        return Bringing(ctx.kube, bool(self.force), float(self.timeout or 300), ctx.progress)
