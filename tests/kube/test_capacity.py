"""What a queue may hold is counted once the nodes offer what their groups promise, not while their
devices still register."""

from __future__ import annotations

from typing import Any

from tests.support.kube.addon_stage import AddonStage

BARE = {"cpu": "127920m", "memory": "511Gi"}
WHOLE = {
    **BARE,
    "aws.amazon.com/neuron": 16,
    "aws.amazon.com/neuroncore": 32,
    "vpc.amazonaws.com/efa": 8,
}


def test_devices_that_register_late_are_counted_and_a_second_run_changes_nothing(
    stage: AddonStage,
) -> None:
    early, late = (
        stage.node(name, "trn1.32xlarge", offers, {"group": "trn1-32xl-ng1"})
        for name, offers in (("early", WHOLE), ("late", BARE))
    )
    stage.later(3.0, lambda: stage.offer(late, WHOLE))
    made = stage.create("volcano", **_sized(stage))
    assert made.code == 0, made.messages
    assert made.values["volcano : volcano nodes"]["nodes"] == [early, late]
    told = _capability(stage)
    assert {name: told.get(name) for name in WHOLE if "/" in name} == {
        "aws.amazon.com/neuron": "32",
        "aws.amazon.com/neuroncore": "64",
        "vpc.amazonaws.com/efa": "16",
    }
    assert stage.create("volcano", **_sized(stage)).changed == []


def test_devices_that_never_come_are_named_and_the_rest_counts(stage: AddonStage) -> None:
    node = stage.node("poor", "trn1.32xlarge", BARE, {"group": "trn1-32xl-ng1"})
    made = stage.create("volcano", volcano_devices_timeout=1, **_sized(stage))
    assert made.code == 0, made.messages
    assert node in made.text and "offers 0 of 16 aws.amazon.com/neuron" in made.text, made.text
    assert sorted(_capability(stage)) == ["cpu", "memory"]


def test_looking_ahead_showing_and_deleting_wait_for_no_device(stage: AddonStage) -> None:
    stage.node("poor", "trn1.32xlarge", BARE, {"group": "trn1-32xl-ng1"})
    patient = {"volcano_devices_timeout": 3600, **_sized(stage)}
    foreseen = stage.create("volcano", check=True, **patient)
    assert foreseen.code == 0, foreseen.messages
    assert (
        stage.status("volcano", **patient).code == 0
        and stage.delete("volcano", **patient).code == 0
    )


def _sized(stage: AddonStage) -> dict[str, Any]:
    """Only the test's own nodes count, and they are of a group that has Neuron devices and EFA
    cards."""
    return {
        "volcano_queue_nodes": {"own": stage.own},
        "volcano_group_label": "group",
        "volcano_groups": [
            {
                "name": "trn1-32xl-ng1",
                "selector": {"own": stage.own},
                "efa": True,
                "modules": ["lustre"],
            }
        ],
    }


def _capability(stage: AddonStage) -> dict[str, str]:
    return dict(
        stage.object("scheduling.volcano.sh/v1beta1", "queues", "test")["spec"]["capability"]
    )
