"""aws.ecr_repository: scanned, tidied by rules, and kept while it holds images."""

from __future__ import annotations

import json
from typing import Any

from tests.support.aws.module_stage import AwsStage, keeps_its_promise

NAME = "train/bert"


def images(**more: Any) -> dict[str, Any]:
    return {"name": "images", "aws.ecr_repository": {"name": NAME, **more}, "register": "images"}


def test_it_keeps_its_promise(stage: AwsStage) -> None:
    def foreign() -> None:
        stage.aws.client("ecr").create_repository(repositoryName=NAME)

    other = images(keep_images=0, untagged_days=0, scan_on_push=False, immutable_tags=True)
    keeps_its_promise(stage, images(keep_images=20, untagged_days=7), other, foreign=foreign)


def test_what_is_pushed_is_scanned_and_old_images_go(stage: AwsStage) -> None:
    made = stage.play([images(keep_images=20, untagged_days=7)]).values["images"]
    ecr = stage.aws.client("ecr")
    (found,) = ecr.describe_repositories()["repositories"]
    assert found["imageScanningConfiguration"] == {"scanOnPush": True}
    assert found["encryptionConfiguration"]["encryptionType"] == "AES256"
    assert made["repositoryUri"] == found["repositoryUri"]
    rules = json.loads(ecr.get_lifecycle_policy(repositoryName=NAME)["lifecyclePolicyText"])[
        "rules"
    ]
    chosen = [(rule["selection"]["tagStatus"], rule["selection"]["countNumber"]) for rule in rules]
    assert chosen == [("untagged", 7), ("any", 20)]


def test_a_policy_made_by_hand_stays_where_none_is_declared(stage: AwsStage) -> None:
    stage.play([images(keep_images=5)])
    assert not stage.play([images()]).changed
    assert stage.aws.client("ecr").get_lifecycle_policy(repositoryName=NAME)


def test_a_run_that_ended_before_the_policy_is_finished_by_the_next(stage: AwsStage) -> None:
    stage.aws.fault("error", service="ecr", action="PutLifecyclePolicy", status=400, times=1)
    assert stage.play([images(keep_images=5)]).code == 2
    assert stage.play([images(keep_images=5)]).code == 0
    assert stage.aws.client("ecr").get_lifecycle_policy(repositoryName=NAME)


def test_the_kind_of_encryption_cannot_be_changed(stage: AwsStage) -> None:
    stage.play([images()])
    assert "cannot be changed to 'KMS'" in stage.play([images(encryption="KMS")]).messages


def test_one_that_holds_images_stays_until_they_may_go(stage: AwsStage) -> None:
    stage.play([images()])
    ecr = stage.aws.client("ecr")
    config = {
        "mediaType": "application/vnd.docker.container.image.v1+json",
        "size": 1,
        "digest": "sha256:" + "0" * 64,
    }
    manifest = {
        "schemaVersion": 2,
        "mediaType": "application/vnd.docker.distribution.manifest.v2+json",
        "config": config,
        "layers": [],
    }
    ecr.put_image(repositoryName=NAME, imageManifest=json.dumps(manifest), imageTag="latest")
    refused = stage.delete([images()])
    assert refused.code == 2 and "holds images" in refused.text
    assert stage.delete([images(empty_on_delete=True)]).code == 0
    assert ecr.describe_repositories()["repositories"] == []
