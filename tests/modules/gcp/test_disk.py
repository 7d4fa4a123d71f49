"""gcp.disk: made once, grown in place, and deleted only when nobody uses it any more."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.aws.module_stage import keeps_its_promise
from tests.support.gcp.module_stage import GcpStage

DISKS = "compute/v1/projects/{p}/zones/{z}/disks"


def disk(**more: Any) -> dict[str, Any]:
    return {
        "name": "disk",
        "gcp.disk": {"name": "pd-tutorial", "size_gib": 100, "type": "pd-ssd", **more},
        "register": "disk",
    }


def test_it_keeps_its_promise(stage: GcpStage) -> None:
    keeps_its_promise(
        stage,
        disk(),
        disk(size_gib=200, labels={"team": "nlp"}),
        foreign=lambda: stage.gcp.done(
            "POST", DISKS, {"name": "pd-tutorial", "sizeGb": "100", "type": "pd-ssd"}
        ),
    )


def test_its_kind_is_fixed_and_it_never_shrinks(stage: GcpStage) -> None:
    stage.play([disk()])
    for given, words in (
        ({"type": "pd-standard"}, "cannot become"),
        ({"size_gib": 50}, "cannot shrink"),
    ):
        for check in (True, False):
            run = stage.play([disk(**given)], check=check)
            assert run.code == 2 and words in run.messages


@pytest.mark.parametrize(
    "action", ["disks.insert", "disks.resize", "disks.setLabels", "disks.delete"]
)
def test_an_answer_that_was_lost_changes_nothing(stage: GcpStage, action: str) -> None:
    stage.gcp.fault("lost", service="compute", action=action, times=1)
    assert stage.play([disk()]).code == 0
    assert stage.play([disk(size_gib=200, labels={"team": "nlp"})]).code == 0
    assert stage.gcp.get(f"{DISKS}/pd-tutorial")["sizeGb"] == "200"
    assert stage.delete([disk()]).code == 0 and stage.gcp.everything() == {}


@pytest.mark.parametrize("kind", ["throttle", "error"])
def test_a_token_that_is_refused_for_a_while_is_asked_for_again(stage: GcpStage, kind: str) -> None:
    stage.gcp.fault(kind, times=4)  # google-auth itself asks three times
    run = stage.play([disk()])
    assert run.code == 0, run.messages


def test_one_that_could_not_be_made_tells_why(stage: GcpStage) -> None:
    stage.gcp.fault(
        "fails_later",
        service="compute",
        action="disks.insert",
        code="QUOTA_EXCEEDED",
        message="Quota exceeded",
        times=1,
    )
    run = stage.play([disk()])
    assert (
        run.code == 2 and "QUOTA_EXCEEDED" in run.messages and "ask for more quota" in run.messages
    )
