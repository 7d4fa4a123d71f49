"""image.built: an image that a builder has made from its recipe; one that is in the registry
already is not built again."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from playrunner.hostside.module import Failed
from playrunner.hostside.state import Change, State
from playrunner.images import context, platform
from playrunner.images.build_host import Tell
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
    telling,
    worker,
)


class Built(ImageModule):
    """An image kept by docker, podman or buildah, here or on the host that `image_builder_host`
    names."""

    def __init__(self, **arguments: Any) -> None:
        super().__init__(**arguments)
        self._problem: NoBuilder | None = None

    def observe(self, ctx: Any) -> State | None:
        wanted = self.wanted
        if settings(ctx).builder == "cluster":
            return None  # what is built in a cluster is kept in the registry only
        try:
            found = onlooker(ctx).image(wanted.reference)
        except NoBuilder as problem:
            self._problem = problem
            return None
        if found is None:
            return None
        return {
            "reference": str(wanted.reference),
            "id": found.id,
            "architecture": found.architecture,
            "labels": dict(found.labels),
            "content": found.labels.get(CONTENT_LABEL, ""),
        }

    def desired(self, ctx: Any, found: State | None) -> State | None:
        wanted = self.wanted
        if (
            found is None
            and wanted.reference.remote
            and registry(ctx, wanted.reference).image(wanted.reference.tag)
        ):
            return None  # whoever needs it can pull it
        if self._problem:
            raise self._problem
        return {"architecture": platform.ARCHITECTURE, "content": wanted.content}

    def apply(self, ctx: Any, change: Change) -> None:
        wanted = self.wanted
        if settings(ctx).builder == "cluster":
            self._build_in_cluster(ctx, wanted)
            return
        with worker(ctx, wanted) as there:
            if change.removes:
                with telling(ctx, wanted, "remove") as tell:
                    there.remove(wanted.reference, tell)
                return
            with telling(ctx, wanted, "build") as tell:
                self._build(ctx, wanted, there, tell)

    def _build(self, ctx: Any, wanted: Recipe, there: Builder, tell: Tell) -> None:
        for base in wanted.bases:
            self._require_base(ctx, base, there, tell)
        with tempfile.TemporaryDirectory(prefix="playrunner-image-") as scrap:
            context.lay_out(Path(scrap), wanted.dockerfile, wanted.pieces())
            place = scrap if there.shell.here else there.shell.folder(Path(scrap))
            try:
                there.build(wanted, place, tell)
            finally:
                if not there.shell.here:
                    there.shell.drop(place)
        made = there.image(wanted.reference)
        if made is None:
            raise Failed(
                f"{there.name} built {wanted.reference} without complaint, and does not know it now"
            )
        if made.architecture != platform.ARCHITECTURE:
            there.remove(wanted.reference, tell)
        platform.require([made.architecture], str(wanted.reference))

    def _build_in_cluster(self, ctx: Any, wanted: Recipe) -> None:
        from playrunner.images.cluster_build import build_in_cluster

        for base in map(parse, wanted.bases):
            found = registry(ctx, base).image(base.digest or base.tag or "latest")
            if found is None:
                raise Failed(
                    f"the base {base} is not in its registry, and the cluster can take it from"
                    " nowhere else"
                )
            platform.require(found.architectures, f"the base {base}")
        known = credentials(ctx, wanted.reference)
        needed = {one.registry for one in (wanted.reference, *map(parse, wanted.bases))}
        logins = {registry: login for registry in sorted(needed) if (login := known.of(registry))}
        with telling(ctx, wanted, "build") as tell:
            build_in_cluster(ctx, wanted, settings(ctx), logins, tell)

    def _require_base(self, ctx: Any, base: str, there: Builder, tell: Tell) -> None:
        """A base for another kind of machine is refused before an hour is spent on it."""
        reference = parse(base)
        kept = there.image(base)
        if kept is None:
            found = registry(ctx, reference).image(reference.digest or reference.tag or "latest")
            if found is None:
                raise Failed(
                    f"the base {base} is neither in its registry nor with {there.name}; build and"
                    " push it first"
                )
            platform.require(found.architectures, f"the base {base}")
            there.pull(reference, tell)
            kept = there.image(base)
        platform.require([kept.architecture if kept else ""], f"the base {base}")
