"""Reference: an image's name, taken apart: registry, repository, tag or digest."""

from __future__ import annotations

import re
from dataclasses import replace

from playrunner.frozen import frozen
from playrunner.hostside.module import Failed

DOCKER_HUB = "docker.io"
_REPOSITORY = re.compile(
    r"[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*(?:/[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*)*"
)
_TAG = re.compile(r"\w[\w.-]{0,127}")
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")
_LOOPBACK = re.compile(r"(localhost|127(\.\d+){3}|\[::1\])(:\d+)?")


@frozen
class Reference:
    """`registry/repository:tag@digest`."""

    registry: str
    repository: str
    tag: str = ""
    digest: str = ""

    @property
    def home(self) -> str:
        """The repository with its registry, without tag or digest."""
        return f"{self.registry}/{self.repository}"

    @property
    def api_host(self) -> str:
        """Where the registry's HTTP API answers."""
        return "registry-1.docker.io" if self.registry == DOCKER_HUB else self.registry

    @property
    def loopback(self) -> bool:
        """A registry on this very machine speaks plain HTTP."""
        return bool(_LOOPBACK.fullmatch(self.registry))

    @property
    def remote(self) -> bool:
        """Whether it is in a registry; localhost/NAME is kept by its builder only."""
        return self.registry != "localhost"

    def tagged(self, tag: str) -> Reference:
        return replace(self, tag=tag, digest="")

    def __str__(self) -> str:
        return (
            self.home
            + (f":{self.tag}" if self.tag else "")
            + (f"@{self.digest}" if self.digest else "")
        )


def parse(text: str) -> Reference:
    """A reference as docker reads it: without a registry, it is Docker Hub's."""
    rest, _, digest = text.partition("@")
    first, slash, after = rest.partition("/")
    named = bool(slash) and ("." in first or ":" in first or first == "localhost")
    registry, path = (first, after) if named else (DOCKER_HUB, rest)
    path, _, tag = path.partition(":")
    if registry in ("index.docker.io", "registry-1.docker.io"):
        registry = DOCKER_HUB
    if registry == DOCKER_HUB and "/" not in path:
        path = f"library/{path}"
    if (
        not _REPOSITORY.fullmatch(path)
        or (tag and not _TAG.fullmatch(tag))
        or (digest and not _DIGEST.fullmatch(digest))
    ):
        raise Failed(
            f'"{text}" is not the name of an image; write REGISTRY/NAME:TAG, in lower case'
        )
    return Reference(registry, path, tag, digest)
