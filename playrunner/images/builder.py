"""Builder: docker, podman or buildah on one machine. They build, keep, push and remove images, each
in words of its own."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import Any

from playrunner.frozen import frozen
from playrunner.hostside.module import Failed
from playrunner.images.build_host import LogLine, Shell
from playrunner.images.platform import PLATFORM
from playrunner.images.recipe import Recipe
from playrunner.images.reference import Reference
from playrunner.images.settings import ImageSettings

_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")


@frozen
class Tool:
    """How one program is spoken to."""

    program: str
    build: tuple[str, ...]
    inspect: tuple[str, ...]
    remove: tuple[str, ...]
    push: tuple[str, ...] = ("push",)
    takes_auth_file: bool = True  # otherwise it reads DOCKER_CONFIG
    environment: tuple[tuple[str, str], ...] = ()


# Layers are kept for the next build, what a failed build leaves behind is not. A base that is there
# is not asked for again: it was looked at, and pulled where it was missing, before.
_KEPT = ("--layers", "--force-rm")
_FILES = ("--digestfile", "/dev/stdout")
TOOLS = {
    tool.program: tool
    for tool in (
        # Its older builder, which is used where BuildKit is not installed, does not know
        # --progress.
        Tool(
            "docker",
            ("build", "--force-rm"),
            ("image", "inspect"),
            ("image", "rm", "--force"),
            takes_auth_file=False,
            environment=(("BUILDKIT_PROGRESS", "plain"),),
        ),
        Tool(
            "podman",
            ("build", *_KEPT, "--pull=missing"),
            ("image", "inspect"),
            ("image", "rm", "--force"),
            ("push", *_FILES),
        ),
        Tool(
            "buildah",
            ("build", *_KEPT, "--pull=false"),
            ("inspect", "--type", "image"),
            ("rmi", "--force"),
            ("push", *_FILES),
        ),
    )
}


@frozen
class Built:
    """An image as a builder keeps it."""

    id: str
    architecture: str
    labels: Mapping[str, str]


class Builder:
    """One of the programs, on one machine, with a file of logins there."""

    def __init__(
        self, tool: Tool, shell: Shell, settings: ImageSettings, auth_file: str = ""
    ) -> None:
        self.tool, self.shell, self._settings, self._auth_file = tool, shell, settings, auth_file

    @property
    def name(self) -> str:
        return self.tool.program

    def image(self, reference: Reference | str) -> Built | None:
        """What the builder keeps under a name, or None."""
        status, output = self.shell.ask(
            self.name, *self.tool.inspect, str(reference), environment=self._environment()
        )
        if status:
            return None
        inspected = json.loads(output)
        return _built(inspected[0] if isinstance(inspected, list) else inspected)

    def build(self, recipe: Recipe, folder: str, log: LogLine) -> None:
        words = [*self.tool.build, "--platform", PLATFORM, "--tag", str(recipe.reference)]
        for name, value in sorted(recipe.build_args.items()):
            words += ["--build-arg", f"{name}={value}"]
        for name, value in sorted(recipe.labels.items()):
            words += ["--label", f"{name}={value}"]
        self._run(*words, *self._login(), folder, log=log)

    def pull(self, reference: Reference, log: LogLine) -> None:
        self._run(
            "pull",
            "--platform",
            PLATFORM,
            *self._login(),
            *self._tls(reference),
            str(reference),
            log=log,
        )

    def push(self, reference: Reference, log: LogLine) -> str:
        """Push it; the digest that the registry should have for it now."""
        output = self._run(
            *self.tool.push, *self._login(), *self._tls(reference), str(reference), log=log
        )
        digests = _DIGEST.findall("\n".join(output))
        if not digests:
            raise Failed(f"{self.name} pushed {reference} and did not say under which digest")
        return str(digests[-1])

    def remove(self, reference: Reference, log: LogLine) -> None:
        self._run(*self.tool.remove, str(reference), log=log)

    def _run(self, *words: str, log: LogLine) -> list[str]:
        return self.shell.run(self.name, *words, log=log, environment=self._environment())

    def _login(self) -> list[str]:
        return (
            ["--authfile", self._auth_file] if self._auth_file and self.tool.takes_auth_file else []
        )

    def _tls(self, reference: Reference) -> list[str]:
        # docker decides by itself: what is on loopback, or listed in its daemon's settings, need
        # not speak TLS.
        plain = reference.loopback or self._settings.plain_http
        return ["--tls-verify=false"] if plain and self.tool.takes_auth_file else []

    def _environment(self) -> dict[str, str]:
        environment = {**dict(self.tool.environment), **dict(self._settings.environment)}
        if self._auth_file and not self.tool.takes_auth_file:
            environment["DOCKER_CONFIG"] = str(PurePosixPath(self._auth_file).parent)
        return environment


def _built(inspected: Mapping[str, Any]) -> Built:
    """What `inspect` says: buildah's answer holds the image's own configuration, the others' is
    flat."""
    if "OCIv1" in inspected:
        config = inspected["OCIv1"]
        return Built(
            str(inspected.get("FromImageID", "")),
            str(config.get("architecture", "")),
            (config.get("config") or {}).get("Labels") or {},
        )
    return Built(
        str(inspected.get("Id", "")).removeprefix("sha256:"),
        str(inspected.get("Architecture", "")),
        (inspected.get("Config") or {}).get("Labels") or {},
    )
