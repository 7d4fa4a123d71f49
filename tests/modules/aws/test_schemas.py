"""Structured variables: what is misspelled or cannot be is refused before anything is made."""

from __future__ import annotations

from typing import Any

import pytest

from playrunner.modules.aws._preflight.schemas import complaints, is_arm

GROUP: dict[str, Any] = {"name": "gpu", "instance_types": ["p4d.24xlarge"]}


def wrong(**declared: Any) -> str:
    return "\n".join(f"{name}: {text}" for name, text in complaints(declared))


def group(**more: Any) -> dict[str, Any]:
    return {"eks_nodegroups": [{**GROUP, **more}]}


@pytest.mark.parametrize(
    ("declared", "said"),
    [
        (group(capacity_typ="SPOT"), 'gpu: there is no key "capacity_typ"; did you mean "capacity'),
        (group(capacity_type="SPOTT"), "capacity_type is"),
        (group(min_size="two"), "min_size is"),
        (group(efa="maybe"), "it takes true or false"),
        (group(labels=["a"]), "it takes a mapping"),
        (group(min_size=3, max_size=2), "not in this order"),
        (group(taints=[{"key": "a", "efect": "NO_SCHEDULE"}]), "efect"),
        (group(instance_types=["m7g.large", "m7i.large"]), "different processors"),
        (group(instance_types=["m7g.large"], ami_type="AL2023_x86_64_STANDARD"), "ARM_64"),
        (group(instance_types=["m7i.large"], ami_type="AL2023_ARM_64_STANDARD"), "x86_64"),
        (group(local_storage="RAID", ami_type="AL2023_x86_64_NVIDIA"), "it can be RAID0"),
        (group(local_storage="RAID0", ami_type="BOTTLEROCKET_x86_64"), "images of AL2023"),
        (group(capacity_type="CAPACITY_BLOCK"), "needs the capacity_reservation_id"),
        ({**group(efa=True), "network_nat": "none"}, "no public address"),
        ({"network_nat": "oen"}, 'did you mean "one"'),
        ({"eks_nodegroups": {"name": "gpu"}}, "it takes a list"),
        ({"eks_nodegroups": [{"name": "gpu"}]}, "instance_types is missing"),
        ({"eks_service_accounts": [{"name": "a", "policy": []}]}, 'did you mean "policies"'),
        ({"efs_access_points": [{"name": "jobs", "uid": "me"}]}, "uid is"),
        ({"eks_tags": ["a"]}, "eks_tags: is"),
    ],
)
def test_what_cannot_be_is_named(declared: dict[str, Any], said: str) -> None:
    assert said in wrong(**declared), wrong(**declared)


@pytest.mark.parametrize(
    "declared",
    [
        group(efa=True, min_size=0, desired_size=2, max_size=4, labels={"a": "b"}),
        group(instance_types=["m7g.large", "c6gn.large"], ami_type="AL2023_ARM_64_STANDARD"),
        group(capacity_type="CAPACITY_BLOCK", capacity_reservation_id="cr-1"),
        {**group(instance_types=["g5.8xlarge"], efa=True), "network_nat": "none"},
        {"eks_nodegroups": [], "network_nat": "per_zone", "eks_tags": {}},
    ],
)
def test_what_can_be_is_let_through(declared: dict[str, Any]) -> None:
    assert wrong(**declared) == ""


def test_graviton_is_known_by_its_name() -> None:
    arm = ("m7g.large", "c6gn.large", "t4g.micro", "g5g.xlarge", "x2gd.large", "im4gn.large")
    x86 = ("m7i.large", "g5.xlarge", "g4dn.xlarge", "g4ad.xlarge", "g6e.xlarge", "p5.48xlarge")
    assert all(map(is_arm, arm)) and not any(map(is_arm, (*x86, "trn1.32xlarge", "inf2.xlarge")))
