"""Recipe: an image as a value: everything that goes into it, and the tag that follows from that."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from playrunner.frozen import frozen
from playrunner.hostside.module import Failed
from playrunner.images import context, dockerfile
from playrunner.images.context import ContextFile, Source
from playrunner.images.platform import PLATFORM
from playrunner.images.reference import Reference, parse

CLUSTER_LABEL = "playrunner.cluster"  # whose image it is
CONTENT_LABEL = "playrunner.content"  # what it was made from
_TAG_LETTERS = 16  # of the hash; the whole of it is on the image


@frozen
class Recipe:
    """One image before it is built. The same on every machine and at any time."""

    name: str  # what it is called, as fsdp: the start of its tag
    repository: str  # where it is kept, as REGISTRY/REPOSITORY
    dockerfile: str  # the text
    sources: tuple[Source, ...]
    build_args: Mapping[str, str]
    cluster: str  # whose it is
    content: str  # the hash of all the above but the repository

    @property
    def reference(self) -> Reference:
        return parse(self.repository).tagged(f"{self.name}-{self.content[:_TAG_LETTERS]}")

    @property
    def labels(self) -> dict[str, str]:
        return {CLUSTER_LABEL: self.cluster, CONTENT_LABEL: self.content}

    @property
    def bases(self) -> list[str]:
        return dockerfile.bases(self.dockerfile, self.build_args)

    def files(self) -> list[ContextFile]:
        """The files, as long as they are still those that the tag was made from."""
        files = context.files_of(self.sources)
        if _content(self.dockerfile, files, self.build_args, self.cluster) != self.content:
            raise Failed(
                f"files of {self.name} have changed since its tag was worked out; run it again"
            )
        return files

    def values(self) -> dict[str, Any]:
        """What `register` gets, and what a later step can be given."""
        given = asdict(self)
        return {
            **given,
            "sources": list(given["sources"]),
            "reference": str(self.reference),
            "tag": self.reference.tag,
            "bases": self.bases,
        }


def make(
    name: str,
    repository: str,
    text: str,
    sources: tuple[Source, ...],
    build_args: Mapping[str, Any],
    cluster: str,
) -> Recipe:
    arguments = {key: str(value) for key, value in build_args.items()}
    dockerfile.refuse_secret_arguments(arguments)
    content = _content(text, context.files_of(sources), arguments, cluster)
    return Recipe(name, repository, text, sources, arguments, cluster, content)


def from_values(values: Mapping[str, Any]) -> Recipe:
    """A recipe that an earlier step has worked out."""
    try:
        sources = tuple(Source(one["path"], one["dest"]) for one in values["sources"])
        return Recipe(
            str(values["name"]),
            str(values["repository"]),
            str(values["dockerfile"]),
            sources,
            dict(values["build_args"]),
            str(values["cluster"]),
            str(values["content"]),
        )
    except (KeyError, TypeError) as error:
        raise Failed(
            f"recipe: takes what a step with image.recipe has registered; {error} is missing"
        ) from None


def _content(
    text: str, files: list[ContextFile], build_args: Mapping[str, str], cluster: str
) -> str:
    settings = {
        "platform": PLATFORM,
        "cluster": cluster,
        **{f"arg {key}": value for key, value in build_args.items()},
    }
    return context.digest(text, files, settings)
