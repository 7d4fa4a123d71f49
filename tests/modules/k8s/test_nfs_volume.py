"""k8s.nfs_volume: before its server is there; the rest is in tests/roles/test_gcp_cluster.py."""

from __future__ import annotations

from tests.support.kube.module_stage import KubeStage


def test_a_check_foresees_the_volume_of_a_server_that_is_still_to_be_made(stage: KubeStage) -> None:
    volume = {
        "name": f"pv-{stage.namespace}",
        "claim": "pvc",
        "namespace": stage.namespace,
        "service": "nfs-server",
        "capacity_gib": 1,
    }
    steps = [{"name": "volume", "k8s.nfs_volume": volume}]
    foreseen = stage.play(steps, check=True)
    assert (foreseen.code, foreseen.statuses["volume"]) == (0, "changed"), foreseen.messages
    run = stage.play(steps)
    assert run.code == 2 and "nfs-server of the NFS server is not there" in run.messages
