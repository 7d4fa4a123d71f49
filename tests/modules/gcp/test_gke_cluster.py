"""gcp.gke_cluster: made with its first pool, mended where it can be, and never taken for ours when
it is not."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.aws.module_stage import keeps_its_promise
from tests.support.gcp.module_stage import GcpStage

CLUSTERS = "v1/projects/{p}/locations/{z}/clusters"
MAIN = {"name": "main", "machine_type": "e2-standard-4", "nodes": 2}


def cluster(**more: Any) -> dict[str, Any]:
    return {
        "name": "cluster",
        "gcp.gke_cluster": {"name": "demo", "pool": MAIN, **more},
        "register": "cluster",
    }


def test_it_keeps_its_promise(stage: GcpStage) -> None:
    def foreign() -> None:
        theirs = {"name": "demo", "nodePools": [{"name": "main", "initialNodeCount": 1}]}
        stage.gcp.done("POST", CLUSTERS, {"cluster": theirs})

    keeps_its_promise(
        stage, cluster(), cluster(release_channel="RAPID", labels={"team": "nlp"}), foreign=foreign
    )


def test_it_is_as_declared_and_carries_our_mark(stage: GcpStage) -> None:
    stage.gcp.control(
        "POST", "settings", {"gke_endpoint": "127.0.0.1:6443", "gke_certificate_authority": "LS0t"}
    )
    made = stage.play([cluster(version="1.32", release_channel="STABLE")])
    assert made.code == 0, made.messages
    found = stage.gcp.get(f"{CLUSTERS}/demo")
    assert (
        found["resourceLabels"]["playrunner-cluster"] == "demo"
        and found["resourceLabels"]["playrunner-run"]
    )
    assert found["currentMasterVersion"].startswith("1.32.") and found["releaseChannel"] == {
        "channel": "STABLE"
    }
    assert found["workloadIdentityConfig"] == {
        "workloadPool": f"{stage.gcp.up.project}.svc.id.goog"
    }
    (pool,) = found["nodePools"]
    assert (pool["name"], pool["config"]["machineType"], found["currentNodeCount"]) == (
        "main",
        "e2-standard-4",
        2,
    )
    told = made.values["cluster"]
    assert (told["endpoint"], told["masterAuth"]["clusterCaCertificate"]) == (
        "127.0.0.1:6443",
        "LS0t",
    )


def test_a_region_makes_a_control_plane_and_nodes_in_three_zones(stage: GcpStage) -> None:
    assert stage.play([cluster(location="us-central1")]).code == 0
    found = stage.gcp.get("v1/projects/{p}/locations/us-central1/clusters/demo")
    assert len(found["locations"]) == 3 and found["currentNodeCount"] == 6


def test_an_upgrade_goes_on_in_place_and_never_back(stage: GcpStage) -> None:
    stage.play([cluster(version="1.32")])
    assert stage.play([cluster(version="1.33")]).code == 0
    assert stage.gcp.get(f"{CLUSTERS}/demo")["currentMasterVersion"].startswith("1.33.")
    refused = stage.play([cluster(version="1.32")])
    assert refused.code == 2 and "never goes back" in refused.messages


def test_an_answer_that_was_lost_leaves_one(stage: GcpStage) -> None:
    stage.gcp.fault("lost", service="container", action="clusters.create", times=1)
    assert stage.play([cluster()]).code == 0
    assert len(stage.gcp.get(CLUSTERS)["clusters"]) == 1


def test_one_that_failed_tells_why_and_is_made_anew_by_the_next_run(stage: GcpStage) -> None:
    stage.gcp.fault("insufficient_capacity", instance_type="e2-standard-4", times=1)
    failed = stage.play([cluster()])
    assert failed.code == 2 and "does not have enough resources" in failed.messages
    assert stage.play([cluster()]).code == 0
    assert stage.gcp.get(f"{CLUSTERS}/demo")["status"] == "RUNNING"


def test_it_can_be_taken_away_while_it_is_being_made(stage: GcpStage) -> None:
    stage.gcp.delays(container__cluster__create=0.5)
    labels = {"playrunner-cluster": "demo"}
    wish = {
        "name": "demo",
        "resourceLabels": labels,
        "nodePools": [{"name": "main", "initialNodeCount": 1}],
    }
    assert stage.gcp.ask("POST", CLUSTERS, {"cluster": wish})[0] == 200
    assert stage.delete([cluster()]).code == 0
    assert stage.gcp.everything() == {}


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"projects": ["another"]}, "set gcp_project in the inventory"),
        (
            {"disabled_services": ["container.googleapis.com"]},
            "gcloud services enable container.googleapis.com --project",
        ),
        ({"quotas": {"CPUS": 4}}, "ask for more quota at"),
    ],
)
def test_what_stands_in_the_way_is_told_with_its_remedy(
    stage: GcpStage, settings: dict[str, Any], words: str
) -> None:
    stage.gcp.control("POST", "settings", settings)
    run = stage.play([cluster()])
    assert run.code != 0 and words in run.text, run.text
