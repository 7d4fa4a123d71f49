"""What applying a set would change, object by object: nothing where it is as declared, otherwise
what the server's dry run answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from playrunner.hostside.module import Failed
from playrunner.kube.objects.apply import SetApplier
from playrunner.kube.objects.compare import as_declared, same, shown
from playrunner.kube.objects.set_objects import DeclaredObject, Identity, LiveObject, ObservedSet
from playrunner.kube.objects.shape import shape

MOST_REFUSALS = 5  # that are told of one set


class DryRunPreview:
    """The results of dry runs, each valid while its object stays at the same version."""

    def __init__(self) -> None:
        self._texts: dict[tuple[Identity, str], str] = {}

    def texts(
        self,
        applier: SetApplier,
        observed: ObservedSet,
        declared: Sequence[DeclaredObject],
        current: Mapping[str, str],
        in_full: bool,
    ) -> dict[str, str]:
        """Each object's desired state; the same text as in `current` where nothing differs."""
        texts: dict[str, str] = {}
        unsure: list[DeclaredObject] = []
        for item in declared:
            live = observed.live(item.identity)
            if live and as_declared(live.body, item.body):
                texts[item.key] = current.get(live.key) or shown(live.body, in_full)
            elif (item.identity, _version(live)) in self._texts:
                texts[item.key] = self._texts[item.identity, _version(live)]
            else:
                unsure.append(item)
        unsure = _samples(unsure, observed, texts, in_full)
        new_namespaces = [
            item.name
            for item in declared
            if item.kind == "Namespace" and observed.live(item.identity) is None
        ]

        def preview_or_refusal(item: DeclaredObject) -> dict[str, Any] | Failed | None:
            try:
                exists = observed.live(item.identity) is not None
                return applier.dry_run(item, exists, new_namespaces)
            except Failed as error:
                return error

        previews = _unrefused(applier.kube.together(preview_or_refusal, unsure))
        for item, preview in zip(unsure, previews, strict=True):
            live = observed.live(item.identity)
            if live and preview and same(live.body, preview):
                text = current.get(live.key) or shown(live.body, in_full)
            else:
                text = shown(preview if live and preview else item.body, in_full)
            texts[item.key] = self._texts[item.identity, _version(live)] = text
        return texts


def _unrefused(
    answers: Sequence[dict[str, Any] | Failed | None],
) -> list[dict[str, Any] | None]:
    """All that is refused is told at once: whoever mends the first would only meet the next."""
    refused = [answer for answer in answers if isinstance(answer, Failed)]
    if len(refused) == 1:
        raise refused[0]
    if refused:
        more = len(refused) - MOST_REFUSALS
        lines = [str(answer) for answer in refused[:MOST_REFUSALS]]
        raise Failed("\n".join([*lines, *([f"and {more} more"] if more > 0 else [])]))
    return [answer for answer in answers if not isinstance(answer, Failed)]


def _samples(
    unsure: Sequence[DeclaredObject], observed: ObservedSet, texts: dict[str, str], in_full: bool
) -> list[DeclaredObject]:
    """The objects the server is asked about: all that exist, and one new object of each shape. The
    texts of the other new ones are their declarations."""
    samples: list[DeclaredObject] = []
    shapes: set[object] = set()
    for item in unsure:
        new = observed.live(item.identity) is None
        alike = (item.resource, item.namespace, shape(item.body)) if new else None
        if alike is None or alike not in shapes:
            samples.append(item)
            shapes.add(alike)
        else:
            texts[item.key] = shown(item.body, in_full)
    return samples


def _version(live: LiveObject | None) -> str:
    return str(live.body["metadata"].get("resourceVersion") or "") if live else ""
