"""A run that is to have more pods than there is room for: its node group grows first, within its
most, and never shrinks."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support.aws.sandbox import PretendAws
from tests.support.launch.cluster import ClusterSite, cluster_site
from tests.support.launch.site import PACE

pytest.importorskip("torch", reason='training needs torch: pip install "playrunner[train]"')

GROUP = "workers"
SETTINGS = (
    "train.log.every=1",
    "train.checkpoint.every=20",
    "train.checkpoint.keep=2",
    "train.evaluate.batches=1",
    "train.steps=5000",
    PACE,
    "launch.min_nodes=1",
    "launch.max_nodes=2",
)


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ClusterSite]:
    with cluster_site(tmp_path_factory.mktemp("growth")) as made:
        if made.api.flavour == "real":
            pytest.skip("its nodes come from the pretend AWS")
        yield made


@pytest.fixture(scope="module")
def account(cluster: ClusterSite) -> Iterator[PretendAws]:
    """A pretend AWS with the cluster and a group of one node, two at most."""
    pytest.importorskip(
        "moto", reason='the pretend AWS needs moto: pip install "playrunner[sandbox]"'
    )
    from playrunner.sandbox.aws.api import process

    root = cluster.state / "sandbox"
    try:
        aws = PretendAws(root)
        aws.control("POST", "settings", {"delays": {"*": 0.05}})
        cluster.say(
            aws_region=aws.up.region,
            aws_endpoint_url=aws.up.endpoint_url,
            aws_profile="sandbox",
            aws_credentials_file=str(root / "aws-credentials"),
        )
        playbook = cluster.state / "cluster.yaml"
        playbook.write_text(yaml.safe_dump(_playbook(aws)))
        made = cluster.ask("play", playbook)
        assert made.code == 0, made.text
        cluster.await_that(lambda: len(_nodes(cluster)) == 1, "the group's node, and no other")
        cluster.install("pytorchjob")
        yield aws
    finally:
        process.down(root)


def _playbook(aws: PretendAws) -> list[dict[str, Any]]:
    _, subnets = aws.network()
    group = {
        "cluster": "{{ cluster.name }}",
        "name": GROUP,
        "node_role": aws.role("node", "ec2.amazonaws.com"),
        "subnets": subnets,
        "instance_types": ["m5.xlarge"],
        "min_size": 1,
        "max_size": 2,
    }
    control = {
        "name": "rehearsal",
        "role_arn": aws.role("control", "eks.amazonaws.com"),
        "subnets": subnets,
        "version": "1.33",
    }
    return [
        {
            "hosts": "localhost",
            "gather_facts": False,
            "tasks": [
                {"name": "cluster", "aws.eks_cluster": control, "register": "cluster"},
                {"name": "nodes", "aws.eks_nodegroup": group},
            ],
        }
    ]


def test_the_group_grows_first_then_the_run_and_never_beyond_the_groups_most(
    cluster: ClusterSite, account: PretendAws
) -> None:
    assert (
        cluster.launch(
            "grown", "--nodes", 1, "--launcher", "pytorchjob", "--detach", settings=SETTINGS
        ).code
        == 0
    )
    cluster.await_step("grown", 2)
    mark = len(account.calls())
    foreseen = cluster.ask("train.scale", "--name", "grown", "--nodes", 2, "--check")
    assert (
        foreseen.code == 0 and f"node group {GROUP} grows from 1 to 2 nodes first" in foreseen.out
    ), foreseen.text
    assert (
        not [call for call in account.calls()[mark:] if call["mutating"]]
        and cluster.status("grown")["replicas"] == 1
    )

    scaled = cluster.ask("train.scale", "--name", "grown", "--nodes", 2, "--json")
    assert scaled.code == 0, scaled.text
    assert (scaled.data["nodes"], scaled.data["group"]) == (
        2,
        {"name": GROUP, "size": 2, "before": 1},
    )
    assert len(_nodes(cluster)) == 2, "it was waited for"
    cluster.await_met("grown", 2)
    assert {pod["node"] for pod in cluster.status("grown")["pods"]} == set(_nodes(cluster))

    fewer = cluster.ask("train.scale", "--name", "grown", "--nodes", 1, "--json")
    assert fewer.code == 0 and "group" not in fewer.data, fewer.text
    cluster.await_met("grown", 1)
    assert _size(account) == 2, "a group is never made smaller"
    _hold_the_other_node(cluster)
    refused = cluster.ask("train.scale", "--name", "grown", "--nodes", 2)
    assert refused.code == 6, refused.text
    assert f"node group {GROUP} has 2 nodes of 2 at most, and 3 are needed" in refused.text
    assert "raise max_size" in refused.text and "invoke eks.create" in refused.text
    assert cluster.ask("train.stop", "--name", "grown").code == 0


@pytest.fixture
def project(tmp_path: Path) -> Iterator[tuple[ClusterSite, Any]]:
    """A cluster whose two nodes are a pool of the pretend Google Cloud; its size is fixed."""
    pytest.importorskip(
        "google.auth", reason='Google Cloud needs google-auth: pip install "playrunner[gcp]"'
    )
    from playrunner.sandbox.gcp import process
    from tests.support.gcp.module_stage import variables_of
    from tests.support.gcp.sandbox import PretendGcp

    with cluster_site(tmp_path) as cluster:
        if cluster.api.flavour == "real":
            pytest.skip("its nodes come from the pretend Google Cloud")
        root = cluster.state / "sandbox"
        try:
            gcp = PretendGcp(root)
            gcp.delays(**{"*": 0.05})
            cluster.say(
                **{**variables_of(gcp), "cluster_name": "rehearsal"},
                gke_gpu_pool={},
                gke_kubeconfig=False,
                gke_main_pool={"name": GROUP, "machine_type": "e2-standard-4", "nodes": 2},
                kube_context="",
            )
            made = cluster.ask("gke.create")
            assert made.code == 0, made.text
            cluster.await_that(
                lambda: (
                    len(_nodes(cluster)) == 2
                    and all("rehearsal" in name for name in _nodes(cluster))
                ),
                "the pool's nodes, and no others",
            )
            cluster.install("pytorchjob")
            yield cluster, gcp
        finally:
            process.down(root)


def test_a_pool_of_a_fixed_size_grows_and_one_that_scales_itself_is_left_to_it(
    project: tuple[ClusterSite, Any],
) -> None:
    cluster, gcp = project
    assert (
        cluster.launch(
            "pooled", "--nodes", 1, "--launcher", "pytorchjob", "--detach", settings=SETTINGS
        ).code
        == 0
    )
    cluster.await_step("pooled", 2)
    _hold_the_other_node(cluster)
    scaled = cluster.ask("train.scale", "--name", "pooled", "--nodes", 2, "--json")
    assert scaled.code == 0, scaled.text
    assert scaled.data["group"] == {"name": GROUP, "size": 3, "before": 2}
    cluster.await_met("pooled", 2)
    assert cluster.ask("train.scale", "--name", "pooled", "--nodes", 1).code == 0
    cluster.await_met("pooled", 1)

    where = f"v1/projects/{{p}}/locations/{{z}}/clusters/rehearsal/nodePools/{GROUP}"
    gcp.done(
        "POST",
        f"{where}:setAutoscaling",
        {"autoscaling": {"enabled": True, "minNodeCount": 3, "maxNodeCount": 4}},
    )
    _hold_the_other_node(cluster)
    told = cluster.ask("train.scale", "--name", "pooled", "--nodes", 2, "--check")
    assert told.code == 0 and f"node pool {GROUP} scales itself, to 4 at most" in told.out, (
        told.text
    )
    assert cluster.ask("train.stop", "--name", "pooled").code == 0


def _hold_the_other_node(cluster: ClusterSite) -> None:
    """Somebody else's pod takes what is free on the node that the run does not use."""
    held = cluster.api.get("/api/v1/namespaces/default/pods")["items"]
    (node,) = set(_nodes(cluster)) - {str(pod["spec"].get("nodeName")) for pod in held}
    container = {"name": "main", "image": "busybox", "resources": {"requests": {"cpu": "3"}}}
    pod = {
        "metadata": {"name": f"holder-{len(held)}"},
        "spec": {"nodeName": node, "containers": [container]},
    }
    assert cluster.api.call("POST", "/api/v1/namespaces/default/pods", pod)["kind"] == "Pod"


def _nodes(cluster: ClusterSite) -> list[str]:
    return sorted(node["metadata"]["name"] for node in cluster.api.get("/api/v1/nodes")["items"])


def _size(account: PretendAws) -> int:
    found = account.client("eks").describe_nodegroup(clusterName="rehearsal", nodegroupName=GROUP)[
        "nodegroup"
    ]
    return int(found["scalingConfig"]["desiredSize"])
