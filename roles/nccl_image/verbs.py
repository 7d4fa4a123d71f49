"""nccl-image: images for training: built, pushed and proved."""

from __future__ import annotations

from typing import Any

from playrunner.commands.flags import RUN_FLAGS, options_from, verb

_IMAGES = {
    "images": "which, separated by commas: nccl-tests, fsdp, bert, cmd-shell, tensorboard, cpu,"
    " gpt2-elastic, nccl-build",
    "workspace": "a folder of yours to lay over the image",
}


@verb(flags=RUN_FLAGS, help=_IMAGES)
def build(context: Any, flags: dict[str, Any], images: str = "", workspace: str = "") -> int:
    """Build the images that are neither built nor in the registry yet."""
    return _play(flags, "build", images, workspace, {"nccl_image_push": False})


@verb(flags=RUN_FLAGS, help=_IMAGES)
def push(context: Any, flags: dict[str, Any], images: str = "", workspace: str = "") -> int:
    """Build what is missing, and push what the registry does not have."""
    return _play(flags, "push", images, workspace, {"nccl_image_push": True})


@verb(
    flags={name: RUN_FLAGS[name] for name in ("inventory", "limit", "json")},
    help={
        "nodes": "how many nodes (default: all)",
        "begin": "the smallest sum, as 8 or 1M",
        "end": "the largest, as 16G (default: 16G over NCCL, 16M over gloo)",
        "repeats": "sums of each size",
        "image": "run it in the inventory's cluster with this image, not over SSH",
        "job": "what it is in the cluster: mpijob (nccl-tests) or pytorchjob (our own measure)",
    },
)
def bench(
    context: Any,
    flags: dict[str, Any],
    nodes: int = 0,
    begin: str = "8",
    end: str = "",
    repeats: int = 0,
    image: str = "",
    job: str = "mpijob",
) -> int:
    """All-reduce bandwidth by size, as a table and a picture, held against what the machines should
    do."""
    from playrunner.training.bandwidth_bench import bench as measure

    return measure(flags, nodes, (begin, end, repeats), image, job)


def _play(
    flags: dict[str, Any], word: str, images: str, workspace: str, extra: dict[str, Any]
) -> int:
    from pathlib import Path

    from playrunner.playbook.playbook import roles_play
    from playrunner.run.run import run_plays

    if images:
        extra["nccl_image_names"] = [name.strip() for name in images.split(",") if name.strip()]
    if workspace:
        extra["nccl_image_workspace"] = str(Path(workspace).expanduser().absolute())
    return run_plays(
        [roles_play(["nccl_image"])], options_from(flags), f"nccl-image.{word}", extra=extra
    )
