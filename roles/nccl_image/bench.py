"""nccl-image.bench: the image's proof, over SSH or in the cluster."""

from __future__ import annotations

from typing import Any

from playrunner.cli import RUN_FLAGS, options_from


def bench(flags: dict[str, Any], nodes: int, sizes: tuple[str, str, int], image: str, job: str) -> int:
    from roles.training.bandwidth.sizes import Sizes

    full = {name.replace("-", "_"): default for name, (default, _) in RUN_FLAGS.items()}
    options = options_from({**full, **flags})
    if image:
        from roles.nccl_image.bench_cluster import bench_in_cluster

        return bench_in_cluster(image, job, nodes, Sizes(*sizes), options)
    from roles.training.bandwidth.bench import bench as over_ssh

    return over_ssh(nodes, Sizes(*sizes), options)
