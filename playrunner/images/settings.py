"""ImageSettings: how registries and builders are reached, from the variables of the inventory."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import field
from pathlib import Path
from typing import Any

from playrunner.frozen import frozen
from playrunner.hostside.module import Failed

BUILDERS = ("auto", "docker", "podman", "buildah", "cluster")


@frozen
class ImageSettings:
    """image_builder, image_builder_host, image_auth_file, image_user, image_password,
    image_plain_http, image_builder_environment, image_cluster_builder, image_cluster_image,
    image_cluster_service_account."""

    builder: str = "auto"  # or docker, podman, buildah, cluster
    builder_host: str = ""  # a host of the inventory that builds instead of this machine
    auth_file: Path = Path()  # docker's own: logins are read from it and merged into it
    user: str = ""
    password: str = field(default="", repr=False)
    # A registry elsewhere that speaks no TLS; one on this machine never has to
    plain_http: bool = False
    environment: tuple[tuple[str, str], ...] = ()  # of the builder's program, such as a proxy
    cluster_builder: str = "buildkit"  # or kaniko: what builds in the cluster
    cluster_image: str = ""  # its image
    # Whose rights it has there: one that may push to ECR needs no login
    cluster_service_account: str = ""


def settings_of(lookup: Callable[[str], Any]) -> ImageSettings:
    builder = str(lookup("image_builder") or "auto")
    if builder not in BUILDERS:
        raise Failed(f'image_builder is "{builder}"; it takes {", ".join(BUILDERS)}')
    return ImageSettings(
        builder,
        str(lookup("image_builder_host") or ""),
        _auth_file(str(lookup("image_auth_file") or "")),
        str(lookup("image_user") or ""),
        str(lookup("image_password") or ""),
        str(lookup("image_plain_http") or "").lower() in ("true", "yes", "1"),
        _environment(lookup("image_builder_environment")),
        str(lookup("image_cluster_builder") or "buildkit"),
        str(lookup("image_cluster_image") or ""),
        str(lookup("image_cluster_service_account") or ""),
    )


def _environment(given: Any) -> tuple[tuple[str, str], ...]:
    if given and not isinstance(given, Mapping):
        raise Failed(f"image_builder_environment is a mapping of names to values, not {given!r}")
    return tuple((str(name), str(value)) for name, value in (given or {}).items())


def _auth_file(given: str) -> Path:
    if given:
        return Path(given).expanduser()
    folder = os.environ.get("DOCKER_CONFIG")
    return (Path(folder) if folder else Path.home() / ".docker") / "config.json"
