"""The runbook of Google Cloud, typed as an operator types it, and looked at with gcloud and plain
requests."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip(
    "google.auth", reason='Google Cloud needs google-auth: pip install "playrunner[gcp]"'
)

from playrunner.cloud import prices
from tests.support.aws.cli import Operator
from tests.support.gcp.role_stage import gcp, gcp_inventory, gcp_server  # noqa: F401
from tests.support.gcp.sandbox import PretendGcp

CLUSTERS = "v1/projects/{p}/locations/{z}/clusters"
COMPUTE = "compute/v1/projects/{p}"
DISK = {"nfs_disk": "pd-tutorial"}


def operator_of(gcp: PretendGcp, inventory: Path, home: Path) -> Operator:
    return Operator(gcp, home, ("gke", str(inventory)))  # type: ignore[arg-type]


def test_images_have_a_repository_in_artifact_registry_that_goes_with_the_rest(
    gcp: PretendGcp, gcp_inventory: Path, tmp_path: Path
) -> None:
    operator = operator_of(gcp, gcp_inventory, tmp_path)
    step = "artifact_registry : artifact registry repository"
    assert operator.results("artifact-registry.create")[step] == "changed"
    assert operator.results("artifact-registry.create")[step] == "ok"
    repository = gcp.get("v1/projects/{p}/locations/us-central1/repositories/drill")
    assert repository["format"] == "DOCKER"
    assert repository["labels"]["playrunner-cluster"] == "drill"
    foreseen = operator.invoke("nccl-image.push", "--images", "gpt2-elastic", "--check")
    assert "AWS" not in foreseen.out + foreseen.err, foreseen.out + foreseen.err
    assert "us-central1-docker.pkg.dev" in foreseen.out
    gone = operator.invoke("teardown", "--yes")
    assert gone.code == 0 and gcp.everything() == {}, gone.out + gone.err


def test_a_cluster_is_made_once_agrees_with_gcloud_and_goes_without_a_trace(
    gcp: PretendGcp, gcp_inventory: Path, tmp_path: Path
) -> None:
    operator = operator_of(gcp, gcp_inventory, tmp_path)
    assert operator.results("gke.create")["gke : gke cluster"] == "changed"
    again = operator.results("gke.create")
    assert "changed" not in again.values(), again
    cluster = gcp.gcloud("container", "clusters", "describe", "drill")
    assert (cluster["status"], cluster["location"], cluster["currentNodeCount"]) == (
        "RUNNING",
        "us-central1-a",
        2,
    )
    assert cluster["resourceLabels"]["playrunner-cluster"] == "drill"
    pool = gcp.gcloud("container", "node-pools", "describe", "pool-1", "--cluster", "drill")
    assert pool["autoscaling"]["maxNodeCount"] == 2 and not pool["autoscaling"].get("minNodeCount")
    assert pool["config"]["machineType"] == "a2-highgpu-8g"
    assert [
        (card["acceleratorType"], card["acceleratorCount"])
        for card in pool["config"]["accelerators"]
    ] == [("nvidia-tesla-a100", "8")]
    there = {
        thing["thing"]: thing["state"]
        for thing in json.loads(operator.invoke("gke.status", "--json").out)["things"]
    }
    assert there["gke : gke cluster"] == there["gke : gke node pool (pool-1)"] == "there"
    assert operator.invoke("audit").code == 7
    foreseen = operator.invoke("teardown", "--check")
    assert (
        foreseen.code == 0
        and "delete  gke : gke cluster" in foreseen.out
        and gcp.get(f"{CLUSTERS}/drill")
    )
    assert operator.invoke("teardown").code == 5, "without --yes it asks, and here is nobody to ask"
    gone = operator.invoke("teardown", "--yes")
    assert gone.code == 0 and "nothing is left" in gone.out, gone.out + gone.err
    assert gcp.everything() == {} and operator.invoke("audit").code == 0
    _says_no_secret(operator, gcp)


def test_what_a_cluster_left_behind_is_found_and_removed_and_nothing_of_others(
    gcp: PretendGcp, gcp_inventory: Path, tmp_path: Path
) -> None:
    operator = operator_of(gcp, gcp_inventory, tmp_path)
    assert operator.invoke("gke.create").code == 0
    made = gcp.get(f"{CLUSTERS}/drill")
    _balancer(gcp, "a1b2", f"gke-drill-{made['id'][:8]}-node")
    _balancer(gcp, "theirs", "gke-another-0123abcd-node")
    _disk(gcp, "pvc-1", {"goog-k8s-cluster-name": "drill", "goog-gke-volume": ""})
    _disk(gcp, "pvc-2", {"goog-k8s-cluster-name": "another"})
    _disk(gcp, "mine", {"playrunner-cluster": "drill"})
    gcp.done("DELETE", f"{CLUSTERS}/drill")  # by hand, so that nobody could let go of what it held
    told = json.loads(operator.invoke("audit", "--json").out)
    kinds = sorted(thing["kind"] for thing in told["clusters"][0]["things"])
    assert kinds == [
        "address",
        "firewall rule",
        "forwarding rule",
        "persistent disk",
        "persistent disk",
        "target pool",
    ]
    assert told["monthly_dollars"] == pytest.approx(
        2 * 100 * 0.17 + (0.025 + 0.005) * prices.HOURS, abs=0.01
    )
    gcp.delays(**{"*": 0.05})  # so that it has to be asked what became of what was begun
    gone = operator.invoke("teardown", "--yes")
    assert gone.code == 0, gone.out + gone.err
    assert gcp.everything() == {
        "addresses": ["theirs"],
        "disks": ["pvc-2"],
        "firewall rule": ["k8s-fw-theirs"],
        "forwardingRules": ["theirs"],
        "targetPools": ["theirs"],
    }


def test_everything_that_stands_in_the_way_is_told_before_anything_is_made(
    gcp: PretendGcp, gcp_inventory: Path, tmp_path: Path
) -> None:
    operator = operator_of(gcp, gcp_inventory, tmp_path)
    unknown = json.dumps({"gke_main_pool": {"name": "main", "machine_type": "e2-large"}})
    odd = operator.invoke("gke.create", "--extra-vars", unknown)
    assert odd.code == 2 and "e2-large" in odd.out + odd.err
    wrong = {
        "us-east1-b": "zone us-east1-b has no nvidia-tesla-a100",
        "us-central-1a": "did you mean us-central1-a?",
    }
    for zone, words in wrong.items():
        told = operator.invoke("gke.create", "--extra-vars", f"gcp_zone={zone}")
        assert told.code == 2 and words in told.out + told.err, told.out + told.err
    gcp.control("POST", "settings", {"quotas": {"CPUS": 4, "SSD_TOTAL_GB": 500}})
    told = operator.invoke(
        "preflight.check", "--roles", "gke,nfs", "--extra-vars", json.dumps({"gke_version": "1.17"})
    )
    said = told.out + told.err
    assert told.code == 2 and "3 problems:" in said, said
    for words in ("needs 8 of CPUS", "needs 1000 of SSD_TOTAL_GB", "GKE has no Kubernetes 1.17"):
        assert words in said, said
    assert not [call for call in gcp.calls() if call["mutating"]] and gcp.everything() == {}


def test_a_plan_in_google_cloud_is_priced_by_the_same_table_and_can_be_limited(
    gcp: PretendGcp, gcp_inventory: Path, tmp_path: Path
) -> None:
    operator = operator_of(gcp, gcp_inventory, tmp_path)
    told = json.loads(operator.invoke("cost", "--json", "--extra-vars", json.dumps(DISK)).out)
    plan = {thing["thing"]: thing for thing in told["plan"]}
    assert (
        plan["GKE control plane drill"]["hourly"] == 0.1
        and plan["pd-tutorial: 1000 GiB pd-ssd"]["hourly"] == 0.23288
    )
    assert plan["main: 2 x e2-standard-4"]["hourly"] == 0.26804
    gpus = plan["pool-1: 0 to 2 x a2-highgpu-8g"]
    assert (
        gpus["hourly"] == 58.77416
        and gpus["at_most"]
        and "only while pods need them" in gpus["note"]
    )
    assert (
        told["prices"] == {"dated": prices.DATED, "source": prices.SOURCE}
        and "Google Cloud" in prices.SOURCE
    )
    assert "traffic" in operator.invoke("cost").out, "what is not priced is said"
    refused = operator.invoke("gke.create", "--max-hourly", "5")
    assert refused.code == 2 and "max_hourly allows $5.00" in refused.out + refused.err
    assert gcp.everything() == {}


def test_expired_things_are_taken_away_without_an_inventory_of_their_own(
    gcp: PretendGcp, gcp_inventory: Path, tmp_path: Path
) -> None:
    _disk(gcp, "old", {"playrunner-cluster": "yesterday", "playrunner-expires": "20260101t000000z"})
    _disk(
        gcp, "young", {"playrunner-cluster": "tomorrow", "playrunner-expires": "20990101t000000z"}
    )
    operator = operator_of(gcp, gcp_inventory, tmp_path)
    assert re.search(r"yesterday .*expired", operator.invoke("audit", "--all", "--expired").out)
    assert operator.invoke("teardown", "--expired", "--yes").code == 0
    assert gcp.everything() == {"disks": ["young"]}


def _balancer(gcp: PretendGcp, name: str, tag: str) -> None:
    """What a Service of type LoadBalancer is made of."""
    region = f"{COMPUTE}/regions/us-central1"
    gcp.done("POST", f"{region}/targetPools", {"name": name})
    pool = gcp.get(f"{region}/targetPools/{name}")["selfLink"]
    gcp.done("POST", f"{region}/addresses", {"name": name})
    gcp.done("POST", f"{region}/forwardingRules", {"name": name, "target": pool})
    gcp.done("POST", f"{COMPUTE}/global/firewalls", {"name": f"k8s-fw-{name}", "targetTags": [tag]})


def _disk(gcp: PretendGcp, name: str, labels: dict[str, str]) -> None:
    gcp.done(
        "POST",
        f"{COMPUTE}/zones/{{z}}/disks",
        {"name": name, "sizeGb": "100", "type": "pd-ssd", "labels": labels},
    )


def _says_no_secret(operator: Operator, gcp: PretendGcp) -> None:
    """Neither on the screen nor in any file that a run leaves."""
    account: dict[str, Any] = json.loads(Path(gcp.up.credentials_file).read_text())
    secrets = [account["private_key"].splitlines()[3], "ya29.sandbox"]
    assert not [text for text in operator.heard if any(secret in text for secret in secrets)]
    files = [path for path in operator.home.rglob("*") if path.is_file()]
    assert files and not [
        path
        for path in files
        if any(secret in path.read_text(errors="replace") for secret in secrets)
    ]
