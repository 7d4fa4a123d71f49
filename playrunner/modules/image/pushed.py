"""image.pushed: an image in its registry, under the tag of its content and for the nodes'
architecture."""

from __future__ import annotations

import re
from typing import Any

from playrunner.cloud.resource import Unanswered
from playrunner.hostside.module import Failed
from playrunner.hostside.state import Change, State
from playrunner.images import platform
from playrunner.images.build_host import ProgramFailed
from playrunner.images.credentials import ECR
from playrunner.images.recipe import CONTENT_LABEL
from playrunner.modules.image._base import ImageModule, registry, settings, telling, worker

ATTEMPTS = 3  # layers that arrived are not sent again
_DENIED = re.compile(
    r"unauthorized|authentication required|denied|forbidden|no basic auth", re.IGNORECASE
)


class Pushed(ImageModule):
    """An image in its registry. It is looked at by its digest and configuration; nothing is pulled
    for that."""

    def __init__(self, **arguments: Any) -> None:
        super().__init__(**arguments)
        self._attempts = 0

    def observe(self, ctx: Any) -> State | None:
        wanted = self.wanted.reference
        if not wanted.remote:
            raise Failed(
                f"{wanted} is in no registry; give a repository that names one, as REGISTRY/NAME"
            )
        found = registry(ctx, wanted).image(wanted.tag)
        if found is None:
            return None
        architecture = (
            platform.ARCHITECTURE
            if platform.ARCHITECTURE in found.architectures
            else ", ".join(found.architectures)
        )
        return {
            "reference": str(wanted),
            "digest": found.digest,
            "pinned": f"{wanted.home}@{found.digest}",
            "size": found.size,
            "architecture": architecture,
            "labels": dict(found.labels),
            "content": found.labels.get(CONTENT_LABEL, ""),
        }

    def desired(self, ctx: Any, found: State | None) -> State:
        return {"architecture": platform.ARCHITECTURE, "content": self.wanted.content}

    def apply(self, ctx: Any, change: Change) -> None:
        if change.removes:
            remove(ctx, self.wanted.reference, str((change.observed or {})["digest"]))
            return
        wanted = self.wanted
        if settings(ctx).builder == "cluster":
            raise Failed(
                f"{wanted.reference} was to be built in the cluster, and is not in its registry;"
                " see the run's folder"
            )
        with worker(ctx, wanted) as there, telling(ctx, wanted, "push") as tell:
            if there.image(wanted.reference) is None:
                raise Failed(
                    f'{there.name} does not have {wanted.reference}; build it first: "invoke'
                    ' nccl-image.build"'
                )
            try:
                digest = there.push(wanted.reference, tell)
            except ProgramFailed as failure:
                raise self._explained(failure) from None
        kept = registry(ctx, wanted.reference).image(wanted.reference.tag)
        if kept is not None and kept.digest != digest:
            raise Failed(
                f"{wanted.reference}: {digest} was pushed, and the registry has {kept.digest}; who"
                " else pushes there?"
            )

    def _explained(self, failure: ProgramFailed) -> Failed:
        """A connection that was cut, in whatever words, is worth another attempt; a refused login
        is not."""
        said = "\n".join(failure.lines)
        where = self.wanted.reference.registry
        if _DENIED.search(said):
            return Failed(
                f'the registry {where} refuses the push: {failure.lines[-1]}; log in with "docker'
                f' login {where}" (or set image_user and image_password), and see that the user may'
                " write there"
            )
        self._attempts += 1
        return Unanswered(str(failure)) if self._attempts < ATTEMPTS else failure


def remove(ctx: Any, reference: Any, digest: str) -> None:
    """Take an image out of its registry; ECR has a call of its own for it."""
    if ECR.fullmatch(reference.registry):
        ctx.aws.call(
            "ecr",
            "batch_delete_image",
            repositoryName=reference.repository,
            imageIds=[{"imageTag": reference.tag}],
        )
    else:
        registry(ctx, reference).delete(reference.tag, digest)
