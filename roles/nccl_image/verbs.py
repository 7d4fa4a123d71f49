"""nccl-image: training images: build, push and benchmark them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from playrunner.commands.flags import RUN_FLAGS, options_from, pick, verb

if TYPE_CHECKING:
    from invoke.context import Context

_IMAGES = {
    "images": "comma-separated images: nccl-tests, fsdp, bert, cmd-shell, tensorboard, cpu,"
    " gpt2-elastic, nccl-build",
    "workspace": "a folder to copy into the image",
}


@verb(flags=RUN_FLAGS, help=_IMAGES)
def build(context: Context, flags: dict[str, Any], images: str = "", workspace: str = "") -> int:
    """Build images that are neither built nor in the registry."""
    return _play(flags, "build", images, workspace, {"nccl_image_push": False})


@verb(flags=RUN_FLAGS, help=_IMAGES)
def push(context: Context, flags: dict[str, Any], images: str = "", workspace: str = "") -> int:
    """Build and push images that the registry does not have."""
    return _play(flags, "push", images, workspace, {"nccl_image_push": True})


@verb(
    flags=pick("inventory", "limit", "json"),
    help={
        "nodes": "how many nodes (default: all)",
        "begin": "smallest message size, as 8 or 1M",
        "end": "largest message size, as 16G (default: 16G over NCCL, 16M over gloo)",
        "repeats": "iterations per size",
        "image": "run in the inventory's cluster with this image, not over SSH",
        "job": "kind of job in the cluster: mpijob (nccl-tests) or pytorchjob (our benchmark)",
    },
)
def bench(
    context: Context,
    flags: dict[str, Any],
    nodes: int = 0,
    begin: str = "8",
    end: str = "",
    repeats: int = 0,
    image: str = "",
    job: str = "mpijob",
) -> int:
    """Measure all-reduce bandwidth by message size against what the instances should reach."""
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
