"""Drills: a run of all AWS roles is cut short everywhere it can be, and whatever is left is brought
to its end, or to nothing.

All of them take an hour; PLAYRUNNER_DRILL_EVERY=7 takes every seventh, PLAYRUNNER_DRILL_AT=17,18
those alone.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support.aws.rehearsing import Rehearsal
from tests.support.aws.role_listing import Listing, everything, shape
from tests.support.aws.sandbox import PretendAws

ROLES = ("eks", "efs", "fsx", "registry", "bucket")
ZONES = ["us-west-2a", "us-west-2b"]  # instead of four: the same kinds of steps, fewer of each
EVERY = int(os.environ.get("PLAYRUNNER_DRILL_EVERY", "1"))
AT = [int(number) for number in os.environ.get("PLAYRUNNER_DRILL_AT", "").split(",") if number]
# Ten seconds of lag, by a clock that is faster on both sides; a busy machine needs a slower one,
# since the time that calls take does not shrink with it
LAG_SECONDS, SPEED = 10.0, float(os.environ.get("PLAYRUNNER_DRILL_SPEED", "5"))
LAG_PARTS = 2 if EVERY < 20 else 1  # beside each other, where there are enough of them
# What a later run reads of an earlier one; between two of these nothing happens in the account
READ_LATER = ("call", "answer")

pytestmark = pytest.mark.drill


class AwsDrill:
    """An account, the process that works in it, and what it looked like before and after a whole
    run."""

    def __init__(self, aws: PretendAws, rehearsal: Rehearsal) -> None:
        self.aws, self.rehearsal = aws, rehearsal
        self.empty = everything(aws)
        self.events = self.create()["events"]
        self.whole = shape(aws)
        self.changes = self._changes()
        self.deletion_events = self.teardown()["events"]
        self.deletion_changes = self._changes()

    def _changes(self) -> int:
        changes = sum(call["mutating"] for call in self.aws.calls(lease=True))
        self.aws.control("DELETE", "calls")
        return changes

    def create(self) -> dict[str, Any]:
        ran = self.rehearsal.create()
        assert ran["code"] == 0, ran["text"]
        return ran

    def teardown(self) -> dict[str, Any]:
        ran = self.rehearsal.teardown()
        assert ran["code"] == 0, ran["text"]
        assert self.left() == {}
        return ran

    def cut(self, verb: str, number: int, lost: bool) -> None:
        """A run whose n-th answer is lost, or that is killed at its n-th event."""
        run = getattr(self.rehearsal, verb)
        if lost:
            self.aws.fault("lost", mutating=True, nth=number)
        ran = run() if lost else run(kill_at=number)
        self.aws.control("DELETE", "faults")
        assert ran["code"] in ((0,) if lost else (-9, 0)), ran["text"]

    def left(self) -> Listing:
        found = everything(self.aws)
        return {kind: ids for kind, ids in found.items() if ids != self.empty.get(kind)}


@contextmanager
def _drill(aws: PretendAws, inventory: Path, state: Path, **clock: Any) -> Iterator[AwsDrill]:
    variables = yaml.safe_load(inventory.read_text())
    variables["all"]["vars"]["network_zones"] = ZONES
    inventory.write_text(yaml.safe_dump(variables))
    rehearsal = Rehearsal(["inventories/eks-gpu.yaml", str(inventory)], ROLES, state, **clock)
    try:
        yield AwsDrill(aws, rehearsal)
    finally:
        rehearsal.close()


@pytest.fixture
def world(aws: PretendAws, inventory: Path, tmp_path: Path) -> Iterator[AwsDrill]:
    with _drill(aws, inventory, tmp_path / "state") as drill:
        yield drill


@pytest.fixture
def hasty_world(aws: PretendAws, inventory: Path, tmp_path: Path) -> Iterator[AwsDrill]:
    with _drill(aws, inventory, tmp_path / "state", speed=SPEED, kinds=READ_LATER) as drill:
        yield drill


def _chosen(count: int, part: int = 0, parts: int = 1) -> Iterator[int]:
    first = min(EVERY + 1, count + 1) // 2  # at least one, from the middle
    for number in AT or list(range(first, count + 1, EVERY))[part::parts]:
        print(f"{number} of {count}", flush=True)  # pytest -s shows how far it is
        yield number


def test_killed_at_every_event_the_next_run_converges_and_teardown_leaves_nothing(
    world: AwsDrill,
) -> None:
    for number in _chosen(world.events):
        # The last few may not be reached: how many events there are differs by how steps fall
        # together.
        assert world.rehearsal.create(kill_at=number)["code"] in (-9, 0)
        world.create()
        assert _same(shape(world.aws), world.whole), f"killed at event {number}"
        world.teardown()


@pytest.mark.parametrize("part", range(LAG_PARTS))
@pytest.mark.parametrize("lost", [False, True])
def test_while_reads_lag_ten_seconds_nothing_is_made_twice_or_left(
    hasty_world: AwsDrill, lost: bool, part: int
) -> None:
    """Cut short at the n-th call or answer, or with the n-th answer lost: create, then teardown,
    each ended by another run."""
    world = hasty_world
    making = world.changes if lost else world.events
    deleting = world.deletion_changes if lost else world.deletion_events
    before = _neighbours(world.aws)
    world.empty = everything(world.aws)
    world.create()
    world.whole = shape(world.aws)
    world.teardown()
    for number in _chosen(max(making, deleting), part, LAG_PARTS):
        world.aws.control("POST", "settings", {"lag": {"*": LAG_SECONDS / SPEED}})
        if number <= making:
            world.cut("create", number, lost)
        world.create()
        world.aws.control("POST", "settings", {"lag": {}})
        assert _same(shape(world.aws), world.whole), f"create cut short at {number}"
        world.aws.control("POST", "settings", {"lag": {"*": LAG_SECONDS / SPEED}})
        if number <= deleting:
            world.cut("teardown", number, lost)
        ran = world.rehearsal.teardown()
        world.aws.control("POST", "settings", {"lag": {}})
        assert ran["code"] == 0, ran["text"]
        assert world.left() == {}, f"teardown cut short at {number}"
    assert _described(world.aws, before) == before


def test_with_every_answer_lost_in_turn_there_is_one_of_each_thing(world: AwsDrill) -> None:
    for number in _chosen(world.changes):
        world.aws.fault("lost", mutating=True, nth=number)
        world.create()
        world.aws.control("DELETE", "faults")
        assert _same(shape(world.aws), world.whole), f"the answer to change {number} was lost"
        world.teardown()


def test_with_a_fifth_of_all_calls_throttled_it_converges_and_goes_again(world: AwsDrill) -> None:
    world.aws.fault("throttle", probability=0.2, seed=11)
    world.create()
    assert _same(shape(world.aws), world.whole)
    world.teardown()


def test_teardown_from_every_partial_state_ends_empty_and_leaves_others_alone(
    world: AwsDrill,
) -> None:
    before = _neighbours(world.aws)
    world.empty = everything(world.aws)
    for number in _chosen(world.events):
        world.rehearsal.create(kill_at=number)
        world.teardown()
    assert _described(world.aws, before) == before


def _same(one: Listing, other: Listing) -> bool:
    """Alike, but for the ids that services give to what they make."""
    made_up = ("identity provider",)
    assert {kind: names for kind, names in one.items() if kind not in made_up} == {
        kind: names for kind, names in other.items() if kind not in made_up
    }
    return {kind: len(names) for kind, names in one.items()} == {
        kind: len(names) for kind, names in other.items()
    }


def _neighbours(aws: PretendAws) -> dict[str, Any]:
    """Somebody else's things beside ours, some with names like ours."""
    ec2 = aws.client("ec2")
    vpc = ec2.create_vpc(CidrBlock="10.77.0.0/16")["Vpc"]["VpcId"]
    group = ec2.create_security_group(GroupName="drill-efs", Description="theirs", VpcId=vpc)[
        "GroupId"
    ]
    aws.role("drill-operators", "ec2.amazonaws.com")
    aws.client("s3").create_bucket(
        Bucket="drill-theirs", CreateBucketConfiguration={"LocationConstraint": aws.up.region}
    )
    return _described(aws, {"ids": {"vpc": vpc, "group": group}})


def _described(aws: PretendAws, known: dict[str, Any]) -> dict[str, Any]:
    ec2, ids = aws.client("ec2"), known["ids"]
    return {
        "ids": ids,
        "vpc": ec2.describe_vpcs(VpcIds=[ids["vpc"]])["Vpcs"],
        "group": ec2.describe_security_groups(GroupIds=[ids["group"]])["SecurityGroups"],
        "role": aws.client("iam").get_role(RoleName="drill-operators")["Role"],
        "bucket": [
            one
            for one in aws.client("s3").list_buckets()["Buckets"]
            if one["Name"] == "drill-theirs"
        ],
    }
