"""What applying a set would come to, object by object: nothing where it is as declared, otherwise
what the server foresees."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from playrunner.kube.objects.apply import Bringing
from playrunner.kube.objects.applyset import Ident, Live, Seen, Wanted
from playrunner.kube.objects.compare import as_declared, same, shown
from playrunner.kube.objects.shape import shape


class Outlook:
    """Remembers what was foreseen as long as the object stays as it was."""

    def __init__(self) -> None:
        self._known: dict[tuple[Ident, str], str] = {}

    def texts(
        self,
        bringing: Bringing,
        seen: Seen,
        wanted: Sequence[Wanted],
        there: Mapping[str, str],
        in_full: bool,
    ) -> dict[str, str]:
        """Each object's state as it should be; the same as in `there` where nothing is to be done."""
        found, unsure = {}, []
        for one in wanted:
            live = seen.live(one.ident)
            if live and as_declared(live.thing, one.body):
                found[one.key] = there.get(live.key) or shown(live.thing, in_full)
            elif (one.ident, _version(live)) in self._known:
                found[one.key] = self._known[one.ident, _version(live)]
            else:
                unsure.append(one)
        unsure = self._samples(unsure, seen, found, in_full)
        coming = [
            one.name for one in wanted if one.kind == "Namespace" and seen.live(one.ident) is None
        ]
        answers = bringing.kube.together(
            lambda one: bringing.foresee(one, seen.live(one.ident) is not None, coming), unsure
        )
        for one, foreseen in zip(unsure, answers, strict=True):
            live = seen.live(one.ident)
            if live and foreseen and same(live.thing, foreseen):
                text = there.get(live.key) or shown(live.thing, in_full)
            else:
                text = shown(foreseen if live and foreseen else one.body, in_full)
            found[one.key] = self._known[one.ident, _version(live)] = text
        return found

    def _samples(
        self, unsure: Sequence[Wanted], seen: Seen, found: dict[str, str], in_full: bool
    ) -> list[Wanted]:
        """Those that the server is asked about: every one that is there, and of the new ones one
        for each shape."""
        samples: list[Wanted] = []
        shapes: set[object] = set()
        for one in unsure:
            alike = None if seen.live(one.ident) else (one.resource, one.namespace, shape(one.body))
            if alike is None or alike not in shapes:
                samples.append(one)
                shapes.add(alike)
            else:
                found[one.key] = shown(one.body, in_full)
        return samples


def _version(live: Live | None) -> str:
    return str(live.thing["metadata"].get("resourceVersion") or "") if live else ""
