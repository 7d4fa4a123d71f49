"""gcp.bucket and gcp.artifact_repository: private, marked, and emptied only when that is said."""

from __future__ import annotations

from typing import Any

from tests.support.aws.module_stage import keeps_its_promise
from tests.support.gcp.module_stage import GcpStage
from tests.support.until import until

REPOSITORIES = "v1/projects/{p}/locations/us-central1/repositories"


def bucket(**more: Any) -> dict[str, Any]:
    return {"name": "bucket", "gcp.bucket": {"name": "demo-runs", **more}, "register": "bucket"}


def repository(**more: Any) -> dict[str, Any]:
    return {
        "name": "repository",
        "gcp.artifact_repository": {"name": "images", **more},
        "register": "repository",
    }


def test_a_bucket_keeps_its_promise(stage: GcpStage) -> None:
    def foreign() -> None:
        stage.gcp.ask(
            "POST", "storage/v1/b?project={p}", {"name": "demo-runs", "location": "us-central1"}
        )

    keeps_its_promise(
        stage, bucket(), bucket(versioning=True, labels={"team": "nlp"}), foreign=foreign
    )


def test_a_bucket_is_private_in_the_inventorys_region_and_stays_while_it_holds_something(
    stage: GcpStage,
) -> None:
    stage.play([bucket()])
    found = stage.gcp.get("storage/v1/b/demo-runs")
    assert (
        found["location"] == "US-CENTRAL1"
        and found["iamConfiguration"]["publicAccessPrevention"] == "enforced"
    )
    stage.gcp.ask(
        "POST", "upload/storage/v1/b/demo-runs/o?uploadType=media&name=runs/a", {"loss": 1}
    )
    kept = stage.delete([bucket()])
    assert kept.code == 2 and "is not empty" in kept.text
    assert stage.delete([bucket(empty_on_delete=True)]).code == 0 and stage.gcp.everything() == {}


def test_a_repository_keeps_its_promise(stage: GcpStage) -> None:
    def foreign() -> None:
        stage.gcp.ask("POST", f"{REPOSITORIES}?repositoryId=images", {"format": "DOCKER"})

        until(lambda: stage.gcp.everything().get("repository"))

    keeps_its_promise(
        stage,
        repository(),
        repository(immutable_tags=True, description="of trainers"),
        foreign=foreign,
    )


def test_a_repository_gives_the_address_to_push_to(stage: GcpStage) -> None:
    made = stage.play([repository()])
    assert (
        made.values["repository"]["uri"]
        == f"us-central1-docker.pkg.dev/{stage.gcp.up.project}/images"
    )
