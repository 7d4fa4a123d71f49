"""nccl-image.bench: the image's proof, over SSH or in the cluster."""

from __future__ import annotations

from typing import Any

from playrunner.commands.flags import options_from


def bench(
    flags: dict[str, Any], nodes: int, sizes: tuple[str, str, int], image: str, job: str
) -> int:
    from playrunner.training.netcheck.sizes import Sizes

    options = options_from(flags)
    if image:
        from playrunner.training.kube.network.bandwidth_bench import bench_in_cluster

        return bench_in_cluster(image, job, nodes, Sizes(*sizes), options)
    from playrunner.training.ssh.network.bandwidth import bench as over_ssh

    return over_ssh(nodes, Sizes(*sizes), options)
