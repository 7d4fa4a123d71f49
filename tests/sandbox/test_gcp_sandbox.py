"""The pretend Google Cloud: read by other people's clients, with operations that take time, quotas,
refusals and faults."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from playrunner.sandbox.gcp import process
from tests.support.gcp.sandbox import PretendGcp
from tests.support.until import until

CLUSTERS = "v1/projects/{p}/locations/{z}/clusters"
DISKS = "compute/v1/projects/{p}/zones/{z}/disks"
MAIN = {"name": "main", "initialNodeCount": 2, "config": {"machineType": "e2-standard-4"}}
GPUS = {
    "name": "pool-1",
    "initialNodeCount": 0,
    "autoscaling": {"enabled": True, "minNodeCount": 0, "maxNodeCount": 2},
    "config": {
        "machineType": "a2-highgpu-8g",
        "accelerators": [{"acceleratorType": "nvidia-tesla-a100", "acceleratorCount": "8"}],
    },
}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PretendGcp]:
    root = tmp_path_factory.mktemp("gcp") / "sandbox"
    try:
        yield PretendGcp(root)
    finally:
        process.down(root)


@pytest.fixture
def gcp(server: PretendGcp) -> PretendGcp:
    server.control("POST", "reset")
    server.delays(**{"*": 0.1})
    return server


def make(gcp: PretendGcp, *pools: dict[str, Any], name: str = "demo") -> dict[str, Any]:
    ended = gcp.done("POST", CLUSTERS, {"cluster": {"name": name, "nodePools": [MAIN, *pools]}})
    assert "error" not in ended, ended
    return gcp.get(f"{CLUSTERS}/{name}")


def test_gcloud_makes_describes_and_deletes_a_cluster_with_a_gpu_pool(gcp: PretendGcp) -> None:
    # Without --async it would look at its operations every five seconds.
    gcp.gcloud(
        "container",
        "clusters",
        "create",
        "demo",
        "--num-nodes",
        "2",
        "--machine-type",
        "e2-standard-4",
        "--async",
    )
    until(lambda: gcp.get(f"{CLUSTERS}/demo")["status"], lambda status: status == "RUNNING")
    assert "error" not in gcp.done("POST", f"{CLUSTERS}/demo/nodePools", {"nodePool": GPUS})
    pool = gcp.gcloud("container", "node-pools", "describe", "pool-1", "--cluster", "demo")
    assert pool["autoscaling"]["maxNodeCount"] == 2 and pool["status"] == "RUNNING"
    assert {"key": "nvidia.com/gpu", "value": "present", "effect": "NO_SCHEDULE"} in pool["config"][
        "taints"
    ]
    (cluster,) = gcp.gcloud("container", "clusters", "list")
    assert (cluster["name"], cluster["currentNodeCount"]) == ("demo", 2)
    gcp.gcloud("container", "clusters", "delete", "demo", "--async")
    until(gcp.everything, lambda left: left == {})


def test_gcloud_sees_disks_and_repositories(gcp: PretendGcp) -> None:
    gcp.gcloud("compute", "disks", "create", "pd-tutorial", "--size", "1000GB", "--type", "pd-ssd")
    (disk,) = gcp.gcloud("compute", "disks", "list")
    assert (disk["name"], disk["sizeGb"], disk["type"].rpartition("/")[2]) == (
        "pd-tutorial",
        "1000",
        "pd-ssd",
    )
    gcp.gcloud(
        "artifacts",
        "repositories",
        "create",
        "images",
        "--location",
        "us-central1",
        "--repository-format",
        "docker",
        "--async",
    )
    until(lambda: gcp.everything().get("repository"))
    (repository,) = gcp.gcloud("artifacts", "repositories", "list", "--location", "us-central1")
    assert repository["name"].endswith("/repositories/images")
    assert gcp.gcloud("artifacts", "repositories", "list") == [repository]  # of all locations


def test_googles_python_clients_read_it(gcp: PretendGcp) -> None:
    container = pytest.importorskip("google.cloud.container_v1")
    storage = pytest.importorskip("google.cloud.storage")
    from google.api_core.client_options import ClientOptions
    from google.oauth2.credentials import Credentials

    make(gcp, GPUS)
    keys = Credentials(Path(gcp.up.token_file).read_text().strip())
    options = ClientOptions(api_endpoint=gcp.up.endpoint_url)
    clusters = container.ClusterManagerClient(
        credentials=keys, client_options=options, transport="rest"
    )
    found = clusters.get_cluster(
        name=f"projects/{gcp.up.project}/locations/{gcp.up.zone}/clusters/demo"
    )
    assert [pool.name for pool in found.node_pools] == ["main", "pool-1"]
    assert found.node_pools[1].autoscaling.max_node_count == 2
    client = storage.Client(project=gcp.up.project, credentials=keys, client_options=options)
    client.create_bucket("runs").blob("a/b.txt").upload_from_string("hello")
    assert [blob.name for blob in client.list_blobs("runs")] == ["a/b.txt"]


def test_a_service_account_may_sign_its_token_itself(gcp: PretendGcp) -> None:
    jwt = pytest.importorskip("google.auth.jwt")
    from google.auth.crypt import RSASigner

    signer = RSASigner.from_service_account_file(gcp.up.credentials_file)
    now = int(time.time())
    token = jwt.encode(signer, {"iss": process.ACCOUNT, "iat": now, "exp": now + 600}).decode()
    assert gcp.ask("GET", CLUSTERS, token=token)[0] == 200
    assert gcp.ask("GET", CLUSTERS, token=token[:-8] + "AAAAAAAA")[0] == 401
    past = jwt.encode(signer, {"iss": process.ACCOUNT, "iat": now - 700, "exp": now - 100}).decode()
    assert gcp.ask("GET", CLUSTERS, token=past)[0] == 401


def test_an_operation_takes_time_and_a_second_one_is_refused_meanwhile(gcp: PretendGcp) -> None:
    gcp.delays(container__cluster__create=5.0)
    status, begun = gcp.ask("POST", CLUSTERS, {"cluster": {"name": "demo", "nodePools": [MAIN]}})
    assert (status, begun["status"]) == (200, "RUNNING")
    assert gcp.get(f"{CLUSTERS}/demo")["status"] == "PROVISIONING"
    status, said = gcp.ask("POST", f"{CLUSTERS}/demo/nodePools", {"nodePool": GPUS})
    assert status == 400 and "incompatible operation" in said["error"]["message"]


@pytest.mark.parametrize(
    ("wish", "words"),
    [
        ({"name": "Demo"}, "must match the regex"),
        (
            {"name": "demo", "nodePools": [{**MAIN, "config": {"machineType": "x9-huge"}}]},
            "does not exist in zone",
        ),
        ({"name": "demo"}, "initial_node_count"),
        ({"name": "demo", "nodePools": [MAIN], "initialClusterVersion": "1.17"}, "unsupported"),
    ],
)
def test_nonsense_is_refused(gcp: PretendGcp, wish: dict[str, Any], words: str) -> None:
    status, said = gcp.ask("POST", CLUSTERS, {"cluster": wish})
    assert status == 400 and words in said["error"]["message"], said


def test_an_accelerator_that_the_zone_lacks_is_refused(gcp: PretendGcp) -> None:
    elsewhere = "v1/projects/{p}/locations/us-east1-b/clusters"
    status, said = gcp.ask(
        "POST", elsewhere, {"cluster": {"name": "demo", "nodePools": [MAIN, GPUS]}}
    )
    assert (
        status == 400
        and said["error"]["message"]
        == 'Accelerator type "nvidia-tesla-a100" does not exist in zone us-east1-b.'
    )


def test_quota_counts_what_is_there_and_refuses_what_would_exceed_it(gcp: PretendGcp) -> None:
    gcp.control("POST", "settings", {"quotas": {"CPUS": 10, "SSD_TOTAL_GB": 500}})
    make(gcp)
    used = {
        one["metric"]: one["usage"]
        for one in gcp.get("compute/v1/projects/{p}/regions/us-central1")["quotas"]
    }
    assert used["CPUS"] == 8
    status, said = gcp.ask(
        "POST", f"{CLUSTERS}/demo/nodePools", {"nodePool": {**MAIN, "name": "more"}}
    )
    assert status == 403 and "Insufficient regional quota" in said["error"]["message"]
    status, said = gcp.ask("POST", DISKS, {"name": "big", "sizeGb": "501", "type": "pd-ssd"})
    assert status == 403 and said["error"]["errors"][0]["reason"] == "quotaExceeded"


def test_a_disk_that_is_asked_for_twice_with_one_id_is_made_once(gcp: PretendGcp) -> None:
    known_by = "requestId=1b4e28ba-2fa1-11d2-883f-0016d3cca427"
    for _ in range(2):
        status, begun = gcp.ask("POST", f"{DISKS}?{known_by}", {"name": "one", "sizeGb": "10"})
        assert status == 200, begun
    status, _ = gcp.ask("POST", DISKS, {"name": "one", "sizeGb": "10"})
    assert status == 409


def test_faults_refuse_lose_answers_and_make_operations_fail_later(gcp: PretendGcp) -> None:
    gcp.fault("throttle", service="compute", times=1)
    assert gcp.ask("GET", DISKS)[0] == 429
    gcp.fault("lost", service="compute", action="disks.insert", times=1)
    with pytest.raises(OSError):
        gcp.ask("POST", DISKS, {"name": "lost", "sizeGb": "10"})
    assert gcp.get(f"{DISKS}/lost")["name"] == "lost", "it was made all the same"
    gcp.fault(
        "fails_later",
        service="compute",
        action="disks.insert",
        name="bad",
        code="ZONE_RESOURCE_POOL_EXHAUSTED",
    )
    ended = gcp.done("POST", DISKS, {"name": "bad", "sizeGb": "10"})
    assert ended["error"]["errors"][0]["code"] == "ZONE_RESOURCE_POOL_EXHAUSTED"
    assert gcp.ask("GET", f"{DISKS}/bad")[0] == 404
    gcp.fault("insufficient_capacity", instance_type="e2-standard-4")
    ended = gcp.done("POST", CLUSTERS, {"cluster": {"name": "demo", "nodePools": [MAIN]}})
    assert (
        "GCE_STOCKOUT" in ended["error"]["message"]
        and gcp.get(f"{CLUSTERS}/demo")["status"] == "ERROR"
    )


def test_who_is_not_known_a_wrong_project_and_an_api_that_is_off_are_told_apart(
    gcp: PretendGcp,
) -> None:
    assert gcp.ask("GET", DISKS, token="ya29.made-up")[0] == 401
    status, said = gcp.ask("GET", "compute/v1/projects/theirs/zones/{z}/disks")
    assert status == 403 and said["error"]["details"][0]["reason"] == "CONSUMER_INVALID"
    gcp.control("POST", "settings", {"disabled_services": ["container.googleapis.com"]})
    status, said = gcp.ask("GET", CLUSTERS)
    assert status == 403 and said["error"]["details"][0]["reason"] == "SERVICE_DISABLED"
    gcp.ask("POST", "v1/projects/{p}/services/container.googleapis.com:enable", {})
    until(lambda: gcp.ask("GET", CLUSTERS)[0], lambda status: status == 200)


def test_a_pool_that_scales_is_resized_within_its_bounds_by_a_control_request(
    gcp: PretendGcp,
) -> None:
    make(gcp, GPUS)
    pool = {listed["pool"]: listed for listed in gcp.control("GET", "pools")["pools"]}["pool-1"]
    assert (pool["nodes"], pool["accelerators"], pool["accelerator"]) == (
        [],
        8,
        "nvidia-tesla-a100",
    )
    wish = {name: pool[name] for name in ("project", "location", "cluster", "pool")}
    assert gcp.control("POST", "pools", {**wish, "size": 9}) == {"size": 2, "refused": ""}
    nodes = {listed["pool"]: listed["nodes"] for listed in gcp.control("GET", "pools")["pools"]}[
        "pool-1"
    ]
    assert len(nodes) == 2 and all(node["name"].startswith("gke-demo-pool-1-") for node in nodes)
    assert (
        gcp.control("POST", "pools", {**wish, "size": 1, "remove": [nodes[0]["name"]]})["size"] == 1
    )
    assert {listed["pool"]: listed["nodes"] for listed in gcp.control("GET", "pools")["pools"]}[
        "pool-1"
    ][0]["name"] == nodes[1]["name"]
    status, _ = gcp.control_response("POST", "pools", {**wish, "pool": "main", "size": 3})
    assert status == 400, "one that does not scale is left alone"


def test_it_is_found_again_kept_and_taken_away(tmp_path: Path) -> None:
    root = tmp_path / "sandbox"
    first = process.up(root)
    assert process.up(root) == first
    assert (root / "gcp-account.json").stat().st_mode & 0o77 == 0 and "private_key" not in str(
        first.summary()
    )
    process.down(root)
    assert process.status(root) is None and not root.exists()
