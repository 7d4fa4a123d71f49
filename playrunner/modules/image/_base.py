"""ImageModule: what modules for images share: the registry, the builder, and a log of what the
builder says."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, ClassVar

from playrunner.cloud.resource import CloudModule
from playrunner.errors import BadInput
from playrunner.hostside.state import State
from playrunner.images.build_host import LogLine
from playrunner.images.builder import Builder
from playrunner.images.choose import looking, working
from playrunner.images.credentials import Credentials
from playrunner.images.recipe import CLUSTER_LABEL, Recipe, from_values
from playrunner.images.reference import Reference, parse
from playrunner.images.registry import Registry
from playrunner.images.settings import ImageSettings, settings_of
from playrunner.record.ledger import state_directory
from playrunner.ssh.connection import Connection, connect
from playrunner.ssh.targets import target_of
from playrunner.variables.scope import Scope
from playrunner.variables.templating import MISSING

if TYPE_CHECKING:
    from playrunner.run.context import Context

_PROGRESS_LETTERS = 100


class ImageModule(CloudModule):
    """An image, known by its recipe."""

    identity: ClassVar[tuple[str, ...]] = ("recipe",)
    settle_seconds: ClassVar[float] = 7200  # building NCCL from its source alone takes half an hour

    recipe: dict[str, Any]  # what a step with image.recipe has registered

    def ours(self, ctx: Context, state: State) -> bool:
        return bool((state.get("labels") or {}).get(CLUSTER_LABEL) == ctx.owner.cluster)

    def label(self, state: State) -> str:
        return str(state.get("reference", ""))

    @property
    def wanted(self) -> Recipe:
        return from_values(self.recipe)


def settings(ctx: Context) -> ImageSettings:
    def value(name: str) -> Any:
        found = ctx.scope.lookup(name)
        return "" if found is MISSING or found is None else found

    return settings_of(value)


def credentials(ctx: Context, home: Reference) -> Credentials:
    return Credentials(settings(ctx), home.registry, lambda: ctx.aws, lambda: ctx.gcp)


def registry(ctx: Context, home: Reference) -> Registry:
    return Registry(home, credentials(ctx, home), ctx.sleep)


def onlooker(ctx: Context) -> Builder:
    """The builder, to be asked what it keeps."""
    return looking(settings(ctx), lambda host: _reached(ctx, host))


@contextmanager
def worker(ctx: Context, recipe: Recipe) -> Iterator[Builder]:
    """The builder, able to log in where the image is kept and where its bases are."""
    registries = {
        one.registry for one in (recipe.reference, *map(parse, recipe.bases)) if one.remote
    }
    with working(
        settings(ctx),
        lambda host: _reached(ctx, host),
        credentials(ctx, recipe.reference),
        registries,
    ) as found:
        yield found


@contextmanager
def step_log(ctx: Context, recipe: Recipe, what: str) -> Iterator[LogLine]:
    """A builder's output: its last line as progress, all of it in the run's folder."""
    folder = state_directory() / "runs" / ctx.owner.run / "images"
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    descriptor = os.open(
        folder / f"{recipe.reference.tag}.{what}.log", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600
    )
    with os.fdopen(descriptor, "w") as file:

        def log(line: str) -> None:
            file.write(f"{line}\n")
            file.flush()
            ctx.progress(line.strip()[:_PROGRESS_LETTERS])

        yield log


def _reached(ctx: Context, host: str) -> Connection:
    if host not in ctx.inventory.hosts:
        raise BadInput(f'image_builder_host names the host "{host}", which is not in the inventory')
    return connect(target_of(Scope(ctx.scope.run_vars, host)))
