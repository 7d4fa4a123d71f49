"""image.absent: images of ours that are not in a repository any more."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from playrunner.cloud.resource import CloudModule
from playrunner.hostside.module import Failed
from playrunner.hostside.state import Change, State
from playrunner.images.recipe import CLUSTER_LABEL
from playrunner.images.reference import parse
from playrunner.modules.image._base import registry
from playrunner.modules.image.pushed import remove

if TYPE_CHECKING:
    from playrunner.run.context import Context


class Absent(CloudModule):
    """Images tagged as ours, deleted from a repository: those named, or all but some. Images that
    others pushed there are kept."""

    identity: ClassVar[tuple[str, ...]] = ("repository", "tags", "keep")

    repository: str  # as REGISTRY/REPOSITORY
    tags: list[str] = []  # these; by default all that are ours
    keep: list[str] = []  # but not these

    def observe(self, ctx: Context) -> State | None:
        home = parse(self.repository)
        home_registry, images = registry(ctx, home), dict[str, str]()
        for tag in sorted(set(self.tags) or home_registry.tags()):
            image = None if tag in self.keep else home_registry.image(tag)
            if image is None:
                continue
            if image.labels.get(CLUSTER_LABEL) == ctx.owner.cluster:
                images[tag] = image.digest
            elif self.tags:
                raise Failed(
                    f"{home}:{tag} is not tagged {ctx.owner.tag}; have it deleted by the user who"
                    " pushed it"
                )
        return {"repository": self.repository, "images": images} if images else None

    def desired(self, ctx: Context, current: State | None) -> None:
        return None

    def apply(self, ctx: Context, change: Change) -> None:
        for tag, digest in (change.observed or {})["images"].items():
            remove(ctx, parse(self.repository).tagged(tag), digest)

    def ours(self, ctx: Context, state: State) -> bool:
        return True  # no other is looked at

    def label(self, state: State) -> str:
        return f"{self.repository}: {', '.join(state['images'])}"
