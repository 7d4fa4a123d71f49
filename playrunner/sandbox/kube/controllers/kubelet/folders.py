"""Folders of this machine that stand for what pods mount and what outlives them: shared file
systems, disks, paths of nodes."""

from __future__ import annotations

import shutil
from pathlib import Path

from playrunner.sandbox.http.control_client import ask, endpoint_of
from playrunner.sandbox.kube.controllers.framework.controller_context import ControllerContext
from playrunner.sandbox.kube.controllers.framework.resources import NODES


class NotMounted(Exception):
    """A volume cannot be had yet; the message is the kubelet's."""


def shared_folder(folder: Path, name: str) -> Path:
    place = folder / "volumes" / name.replace("/", "_").replace(":", "_")
    place.mkdir(parents=True, exist_ok=True)
    return place


def host_folder(folder: Path, node: str, path: str) -> Path:
    """A path of a node: inside the sandbox's own folder, unless it names something there
    already."""
    if Path(path).is_relative_to(folder.parent):
        place = Path(path)
    else:
        place = folder / "machines" / (node or "shared") / path.strip("/")
    place.mkdir(parents=True, exist_ok=True)
    return place


def disk_folder(context: ControllerContext, node: str, name: str) -> Path:
    """What is on a persistent disk of the node's zone. One that was deleted and created again is
    another disk, and empty."""
    cloud, _, place = str(
        ((context.see(NODES).get("", node) or {}).get("spec") or {}).get("providerID", "")
    ).partition("://")
    endpoint = endpoint_of(context.folder.parent, "gcp")
    if cloud != "gce" or not endpoint:
        return shared_folder(context.folder, name)
    project, zone, _ = place.split("/")
    answer = ask(context.folder.parent, "gcp", "disks")
    if answer is None:
        raise NotMounted(
            f'AttachVolume.Attach failed for volume "{name}" : Google Cloud does not answer'
        )
    here = (
        disk["id"]
        for disk in answer["disks"]
        if (disk["project"], disk["zone"], disk["name"]) == (project, zone, name)
    )
    number = next(here, None)
    if number is None:
        raise NotMounted(
            f'AttachVolume.Attach failed for volume "{name}" : googleapi: Error 404: The resource '
            f"'projects/{project}/zones/{zone}/disks/{name}' was not found, notFound"
        )
    return shared_folder(context.folder, f"disk-{name}-{number}")


def remove(place: Path) -> None:
    shutil.rmtree(place, ignore_errors=True)
