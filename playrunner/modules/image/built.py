"""image.built: an image that a builder has made from its recipe; one that is in the registry
already is not built again."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from playrunner.hostside.module import Failed
from playrunner.hostside.state import Change, State
from playrunner.images import context, platform
from playrunner.images.build_host import LogLine
from playrunner.images.builder import Builder
from playrunner.images.choose import NoBuilder
from playrunner.images.recipe import CONTENT_LABEL, Recipe
from playrunner.images.reference import parse
from playrunner.modules.image._base import (
    ImageModule,
    credentials,
    onlooker,
    registry,
    settings,
    step_log,
    worker,
)

if TYPE_CHECKING:
    from playrunner.run.context import Context


class Built(ImageModule):
    """An image kept by docker, podman or buildah, here or on the host that `image_builder_host`
    names."""

    def observe(self, ctx: Context) -> State | None:
        wanted = self.wanted
        if settings(ctx).builder == "cluster":
            return None  # what is built in a cluster is kept in the registry only
        try:
            built = onlooker(ctx).image(wanted.reference)
        except NoBuilder:  # it may be in the registry
            return None
        if built is None:
            return None
        return {
            "reference": str(wanted.reference),
            "id": built.id,
            "architecture": built.architecture,
            "labels": dict(built.labels),
            "content": built.labels.get(CONTENT_LABEL, ""),
        }

    def desired(self, ctx: Context, current: State | None) -> State | None:
        wanted = self.wanted
        if (
            current is None
            and wanted.reference.remote
            and registry(ctx, wanted.reference).image(wanted.reference.tag)
        ):
            return None  # it can be pulled from there
        if current is None and settings(ctx).builder != "cluster":
            onlooker(ctx)  # raises when nothing can build it
        return {"architecture": platform.ARCHITECTURE, "content": wanted.content}

    def apply(self, ctx: Context, change: Change) -> None:
        wanted = self.wanted
        if settings(ctx).builder == "cluster":
            self._build_in_cluster(ctx, wanted)
            return
        with worker(ctx, wanted) as builder:
            if change.removes:
                with step_log(ctx, wanted, "remove") as log:
                    builder.remove(wanted.reference, log)
                return
            with step_log(ctx, wanted, "build") as log:
                self._build(ctx, wanted, builder, log)

    def _build(self, ctx: Context, wanted: Recipe, builder: Builder, log: LogLine) -> None:
        for base in wanted.bases:
            self._require_base(ctx, base, builder, log)
        with tempfile.TemporaryDirectory(prefix="playrunner-image-") as scrap:
            context.lay_out(Path(scrap), wanted.dockerfile, wanted.files())
            folder = scrap if builder.shell.here else builder.shell.folder(Path(scrap))
            try:
                builder.build(wanted, folder, log)
            finally:
                if not builder.shell.here:
                    builder.shell.drop(folder)
        made = builder.image(wanted.reference)
        if made is None:
            raise Failed(
                f"{builder.name} reported no error for {wanted.reference}, but does not have it"
            )
        if made.architecture != platform.ARCHITECTURE:
            builder.remove(wanted.reference, log)
        platform.require([made.architecture], str(wanted.reference))

    def _build_in_cluster(self, ctx: Context, wanted: Recipe) -> None:
        from playrunner.images.cluster_build import build_in_cluster

        for base in map(parse, wanted.bases):
            image = registry(ctx, base).image(base.digest or base.tag or "latest")
            if image is None:
                raise Failed(
                    f"the base {base} is not in its registry, and the cluster can take it from"
                    " nowhere else"
                )
            platform.require(image.architectures, f"the base {base}")
        known = credentials(ctx, wanted.reference)
        needed = {reference.registry for reference in (wanted.reference, *map(parse, wanted.bases))}
        logins = {registry: login for registry in sorted(needed) if (login := known.of(registry))}
        with step_log(ctx, wanted, "build") as log:
            build_in_cluster(ctx, wanted, settings(ctx), logins, log)

    def _require_base(self, ctx: Context, base: str, builder: Builder, log: LogLine) -> None:
        """A base for another kind of machine is refused before an hour is spent on it."""
        reference = parse(base)
        kept = builder.image(base)
        if kept is None:
            image = registry(ctx, reference).image(reference.digest or reference.tag or "latest")
            if image is None:
                raise Failed(
                    f"the base {base} is neither in its registry nor with {builder.name}; build and"
                    " push it first"
                )
            platform.require(image.architectures, f"the base {base}")
            builder.pull(reference, log)
            kept = builder.image(base)
        platform.require([kept.architecture if kept else ""], f"the base {base}")
