"""image.absent: images of ours that are not in a repository any more."""

from __future__ import annotations

from typing import Any, ClassVar

from playrunner.cloud.resource import CloudModule
from playrunner.hostside.module import Failed
from playrunner.hostside.state import Change, State
from playrunner.images.recipe import CLUSTER_LABEL
from playrunner.images.reference import parse
from playrunner.modules.image._base import registry
from playrunner.modules.image.pushed import remove


class Absent(CloudModule):
    """Images that carry our mark, taken out of a repository: those named, or all but some. What
    others pushed there stays."""

    identity: ClassVar[tuple[str, ...]] = ("repository", "tags", "keep")

    repository: str  # as REGISTRY/REPOSITORY
    tags: list[str] = []  # these; by default all that are ours
    keep: list[str] = []  # but not these

    def observe(self, ctx: Any) -> State | None:
        home = parse(self.repository)
        there, images = registry(ctx, home), dict[str, str]()
        for tag in sorted(set(self.tags) or there.tags()):
            found = None if tag in self.keep else there.image(tag)
            if found is None:
                continue
            if found.labels.get(CLUSTER_LABEL) == ctx.owner.cluster:
                images[tag] = found.digest
            elif self.tags:
                raise Failed(
                    f'{home}:{tag} does not carry the mark of "{ctx.owner.cluster}"; whoever pushed'
                    " it has to delete it"
                )
        return {"repository": self.repository, "images": images} if images else None

    def desired(self, ctx: Any, found: State | None) -> None:
        return None

    def apply(self, ctx: Any, change: Change) -> None:
        for tag, digest in (change.observed or {})["images"].items():
            remove(ctx, parse(self.repository).tagged(tag), digest)

    def ours(self, ctx: Any, state: State) -> bool:
        return True  # no other is looked at

    def label(self, state: State) -> str:
        return f"{self.repository}: {', '.join(state['images'])}"
