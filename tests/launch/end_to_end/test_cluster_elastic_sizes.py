"""An elastic job is refused at its launch when a number of nodes that it may have cannot work."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support import runner
from tests.support.launch.cluster import ClusterSite, cluster_site

pytest.importorskip("torch", reason='training needs torch: pip install "playrunner[train]"')


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ClusterSite]:
    """Two nodes, and ElasticJobs."""
    with cluster_site(tmp_path_factory.mktemp("sizes")) as made:
        made.install("elasticjob")
        yield made


@pytest.mark.parametrize(
    ("nodes", "least", "most", "told"),
    [
        (2, 1, 1, "--nodes 2: the run may have 1 to 1 nodes (launch.min_nodes, launch.max_nodes)"),
        (3, 1, 2, "give another number, or --set launch.max_nodes=3"),
        (1, 2, 0, "give another number, or --set launch.min_nodes=1"),
        (1, 2, 1, "launch.min_nodes 2 is more than launch.max_nodes 1"),
        (1, 1, 3, "launch.max_nodes is 3, and the cluster has 2 nodes"),
    ],
)
def test_a_number_of_nodes_outside_its_bounds_is_refused(
    cluster: ClusterSite, nodes: int, least: int, most: int, told: str
) -> None:
    _refused(cluster, nodes, told, f"launch.min_nodes={least}", f"launch.max_nodes={most}")


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        (  # one micro-batch: enough for one node, too few for two
            ("train.batch_size=4",),
            "batch_size 4 is not a multiple of device_batch_size 4 x 2 processes = 8",
        ),
        (  # DeepSpeed's engine counts the same number of micro-batches on every rank
            ("train.batch_size=12", "train.strategy.name=deepspeed"),
            "batch_size 12 is not a multiple of device_batch_size 4 x 2 processes = 8",
        ),
    ],
)
def test_a_batch_that_fails_at_a_size_it_may_grow_to_is_refused(
    cluster: ClusterSite, settings: tuple[str, ...], told: str
) -> None:
    told = f"on 2 nodes: {told}"
    remedy = "or keep it off 2 nodes with launch.min_nodes and launch.max_nodes"
    bounds = ("launch.min_nodes=1", "launch.max_nodes=2")
    assert remedy in _refused(cluster, 1, told, *bounds, *settings)


def test_the_same_batch_is_planned_where_it_may_not_grow(cluster: ClusterSite) -> None:
    bounds = ("launch.min_nodes=1", "launch.max_nodes=1")
    looked = _launch(cluster, 1, (*bounds, "train.batch_size=4"), "--check")
    assert looked.code == 0, looked.text


def _refused(cluster: ClusterSite, nodes: int, told: str, *settings: str) -> str:
    """What it says; nothing is created in the cluster."""
    before = cluster.things()
    refused = _launch(cluster, nodes, settings)
    assert refused.code in (5, 6) and told in refused.text, refused.text
    assert cluster.things() == before
    return refused.text


def _launch(
    cluster: ClusterSite, nodes: int, settings: tuple[str, ...], *words: str
) -> runner.Outcome:
    flags = ("--nodes", nodes, "--launcher", "elasticjob", *words)
    return cluster.launch("sized", *flags, settings=settings)
