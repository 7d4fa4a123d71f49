"""image.pushed: an image in its registry, under the tag of its content and for the nodes'
architecture."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from playrunner.cloud.resource import Unanswered
from playrunner.hostside.module import Failed
from playrunner.hostside.state import Change, State
from playrunner.images import platform
from playrunner.images.build_host import ProgramFailed
from playrunner.images.credentials import ECR
from playrunner.images.recipe import CONTENT_LABEL
from playrunner.modules.image._base import ImageModule, registry, settings, step_log, worker
from playrunner.project import program

if TYPE_CHECKING:
    from playrunner.run.context import Context

ATTEMPTS = 3  # layers that arrived are not sent again
_DENIED = re.compile(
    r"unauthorized|authentication required|denied|forbidden|no basic auth", re.IGNORECASE
)


class Pushed(ImageModule):
    """An image in its registry. It is looked at by its digest and configuration; nothing is pulled
    for that."""

    def observe(self, ctx: Context) -> State | None:
        wanted = self.wanted.reference
        if not wanted.remote:
            raise Failed(
                f"{wanted} is in no registry; give a repository that names one, as REGISTRY/NAME"
            )
        image = registry(ctx, wanted).image(wanted.tag)
        if image is None:
            return None
        architecture = (
            platform.ARCHITECTURE
            if platform.ARCHITECTURE in image.architectures
            else ", ".join(image.architectures)
        )
        return {
            "reference": str(wanted),
            "digest": image.digest,
            "pinned": f"{wanted.home}@{image.digest}",
            "size": image.size,
            "architecture": architecture,
            "labels": dict(image.labels),
            "content": image.labels.get(CONTENT_LABEL, ""),
        }

    def desired(self, ctx: Context, current: State | None) -> State:
        return {"architecture": platform.ARCHITECTURE, "content": self.wanted.content}

    def apply(self, ctx: Context, change: Change) -> None:
        if change.removes:
            remove(ctx, self.wanted.reference, str((change.observed or {})["digest"]))
            return
        wanted = self.wanted
        if settings(ctx).builder == "cluster":
            raise Failed(
                f"{wanted.reference} was to be built in the cluster, and is not in its registry;"
                " see the run's folder"
            )
        with worker(ctx, wanted) as builder, step_log(ctx, wanted, "push") as log:
            if builder.image(wanted.reference) is None:
                raise Failed(
                    f'{builder.name} does not have {wanted.reference}; build it first: "{program()}'
                    ' nccl-image.build"'
                )
            try:
                digest = builder.push(wanted.reference, log)
            except ProgramFailed as failure:
                raise self._explained(failure, len(ctx.applied)) from None
        kept = registry(ctx, wanted.reference).image(wanted.reference.tag)
        if kept is not None and kept.digest != digest:
            raise Failed(
                f"{wanted.reference}: {digest} was pushed, and the registry has {kept.digest}; who"
                " else pushes there?"
            )

    def _explained(self, failure: ProgramFailed, attempts: int) -> Failed:
        """A connection that was cut, in whatever words, is worth another attempt; a refused login
        is not."""
        output = "\n".join(failure.lines)
        where = self.wanted.reference.registry
        if _DENIED.search(output):
            return Failed(
                f'the registry {where} refuses the push: {failure.lines[-1]}; log in with "docker'
                f' login {where}" (or set image_user and image_password), and see that the user may'
                " write there"
            )
        return Unanswered(str(failure)) if attempts < ATTEMPTS else failure


def remove(ctx: Context, reference: Any, digest: str) -> None:
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
