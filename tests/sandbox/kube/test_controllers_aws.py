"""The nodes of the pretend AWS's clusters are the cluster's nodes, and its clusters lead to this
API."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from playrunner.aws.eks_token import token
from playrunner.sandbox.aws.api import process as aws_process
from playrunner.sandbox.kube.process import process
from tests.support.aws.sandbox import PretendAws
from tests.support.kube.client import Client
from tests.support.kube.moving import Cluster, Object, placed, raised
from tests.support.until import until

PLAIN = {"kube-node-1", "kube-node-2"}


@pytest.fixture(scope="module")
def own_root(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    root = tmp_path_factory.mktemp("cloud") / "sandbox"
    try:
        yield from raised(root, pretend=True)
    finally:
        aws_process.down(root)


@pytest.fixture
def cluster(own_root: Path) -> Iterator[Cluster]:
    yield from placed(own_root, "pretend")


@pytest.fixture
def cloud(own_root: Path) -> PretendAws:
    aws = PretendAws(own_root)
    aws.control("POST", "reset", {})
    aws.control("POST", "settings", {"delays": {"*": 0.05}})
    return aws


def _nodes(cluster: Cluster) -> dict[str, Object]:
    return {node["metadata"]["name"]: node for node in cluster.all("nodes")}


def _eks(cloud: PretendAws, **group: Any) -> Any:
    """A cluster called demo with one node group."""
    eks = cloud.client("eks")
    _, subnets = cloud.network()
    role, worker = (
        cloud.role("control", "eks.amazonaws.com"),
        cloud.role("worker", "ec2.amazonaws.com"),
    )
    eks.create_cluster(name="demo", roleArn=role, resourcesVpcConfig={"subnetIds": subnets})
    until(
        lambda: eks.describe_cluster(name="demo")["cluster"], lambda one: one["status"] == "ACTIVE"
    )
    eks.create_nodegroup(
        clusterName="demo", nodegroupName="gpu", nodeRole=worker, subnets=subnets, **group
    )
    return eks


def test_a_node_groups_machines_come_as_nodes_and_go_again(
    cluster: Cluster, cloud: PretendAws
) -> None:
    assert set(until(lambda: _nodes(cluster), lambda nodes: set(nodes) == PLAIN)) == PLAIN
    eks = _eks(
        cloud,
        instanceTypes=["g4dn.xlarge"],
        scalingConfig={"minSize": 0, "maxSize": 3, "desiredSize": 2},
        labels={"team": "red"},
        taints=[{"key": "gpu", "value": "yes", "effect": "NO_SCHEDULE"}],
    )
    nodes = until(lambda: _nodes(cluster), lambda nodes: len(nodes) == 2 and not PLAIN & set(nodes))
    node = next(iter(nodes.values()))
    labels = node["metadata"]["labels"]
    assert labels["node.kubernetes.io/instance-type"] == "g4dn.xlarge" and labels["team"] == "red"
    assert (
        labels["eks.amazonaws.com/nodegroup"] == "gpu"
        and labels["topology.kubernetes.io/region"] == "us-west-2"
    )
    assert {
        node["metadata"]["labels"]["topology.kubernetes.io/zone"] for node in nodes.values()
    } == {"us-west-2a", "us-west-2b"}
    assert node["spec"]["taints"] == [{"key": "gpu", "value": "yes", "effect": "NoSchedule"}]
    assert node["spec"]["providerID"].startswith("aws:///us-west-2")
    seen = until(
        lambda: _nodes(cluster)[node["metadata"]["name"]].get("status") or {},
        lambda status: "capacity" in status,
    )
    assert (seen["capacity"]["cpu"], seen["capacity"]["memory"]) == (
        "4",
        "16Gi",
    ) and "nvidia.com/gpu" not in seen["allocatable"]
    eks.update_nodegroup_config(
        clusterName="demo",
        nodegroupName="gpu",
        scalingConfig={"desiredSize": 1},
        labels={"addOrUpdateLabels": {"team": "blue"}},
    )
    until(
        lambda: [changed["metadata"]["labels"]["team"] for changed in _nodes(cluster).values()],
        lambda teams: teams == ["blue"],
    )
    until(lambda: eks.describe_nodegroup(clusterName="demo", nodegroupName="gpu")["nodegroup"],
              lambda group: group["status"] == "ACTIVE")  # fmt: skip
    eks.delete_nodegroup(clusterName="demo", nodegroupName="gpu")
    until(lambda: _nodes(cluster), lambda nodes: not nodes)


def test_trainium_nodes_offer_their_devices_once_plugins_run(
    cluster: Cluster, cloud: PretendAws
) -> None:
    _eks(
        cloud,
        instanceTypes=["trn1.32xlarge"],
        scalingConfig={"minSize": 1, "maxSize": 1, "desiredSize": 1},
        amiType="AL2023_x86_64_NEURON",
    )
    (name,) = until(lambda: _nodes(cluster), lambda nodes: len(nodes) == 1)
    image = {"image": "public.ecr.aws/neuron/neuron-device-plugin:2.29.16.0"}
    cluster.create("daemonsets", "plugin", spec=cluster.workload([], container=image))
    offered = until(
        lambda: _nodes(cluster)[name]["status"]["allocatable"],
        lambda found: "aws.amazon.com/neuron" in found,
    )
    assert (offered["aws.amazon.com/neuron"], offered["aws.amazon.com/neuroncore"]) == ("16", "32")
    assert offered["hugepages-2Mi"] == "10256Mi"


def test_a_cluster_of_the_cloud_leads_here_and_its_tokens_open(
    cluster: Cluster, cloud: PretendAws
) -> None:
    from botocore.session import Session

    eks = _eks(cloud, scalingConfig={"minSize": 0, "maxSize": 1, "desiredSize": 0})
    found = until(
        lambda: eks.describe_cluster(name="demo")["cluster"],
        lambda one: one["endpoint"] == cluster.api.server,
    )
    authority = base64.b64decode(found["certificateAuthority"]["data"])
    assert authority == (process.folder(cluster.root) / "ca.crt").read_bytes()
    session = Session()
    session.set_credentials(cloud.up.access_key_id, cloud.up.secret_access_key)
    made = token(session, "demo", "us-west-2")
    assert cluster.api.call("GET", "/api/v1/nodes", token=made).code == 200
    session.set_credentials("AKIASOMEBODYELSE", cloud.up.secret_access_key)
    assert (
        cluster.api.call("GET", "/api/v1/nodes", token=token(session, "demo", "us-west-2")).code
        == 401
    )


def test_without_a_cluster_in_any_cloud_there_are_two_plain_nodes(
    own_root: Path, cloud: PretendAws
) -> None:
    api = Client(process.kubeconfig_file(own_root))
    until(
        lambda: {one["metadata"]["name"] for one in api.ok("GET", "/api/v1/nodes")["items"]},
        lambda names: names == PLAIN,
    )
