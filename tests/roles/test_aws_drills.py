"""Drills: a run of all AWS roles is cut short everywhere it can be, and whatever is left is brought
to its end, or to nothing.

All of them take an hour; PLAYRUNNER_DRILL_EVERY=7 takes every seventh, PLAYRUNNER_DRILL_AT=17,18
those alone.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.roles.conftest import CLUSTER
from tests.support.aws.neighbours import KEPT, Neighbours
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
        self.begin()
        self.events = self.create()["events"]
        self.whole = shape(aws)
        self.changes = self._changes()
        self.deletion_events = self.teardown()["events"]
        self.deletion_changes = self._changes()

    def begin(self) -> None:
        """A new account: the pretend one remembers what is deleted, and grows slower with it."""
        self.aws.empty()
        self.neighbours = Neighbours(self.aws, CLUSTER)
        self.empty = everything(self.aws)
        self.aws.control("DELETE", "calls")

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
        self.lag(0.0)
        assert ran["code"] == 0, ran["text"]
        assert self.left() == {}
        self.neighbours.assert_untouched()
        # They are left because they are kept, not because they were not seen
        assert all(name in ran["text"] for name in KEPT), ran["text"]
        return ran

    def cut(self, verb: str, number: int, lost: bool) -> None:
        """A run whose n-th answer is lost, or that is killed at its n-th event."""
        run = getattr(self.rehearsal, verb)
        if lost:
            self.aws.fault("lost", mutating=True, nth=number)
        ran = run() if lost else run(kill_at=number)
        self.aws.control("DELETE", "faults")
        assert ran["code"] in ((0,) if lost else (-9, 0)), ran["text"]

    def lag(self, seconds: float) -> None:
        self.aws.control("POST", "settings", {"lag": {"*": seconds} if seconds else {}})

    def left(self) -> Listing:
        found = everything(self.aws)
        return {kind: ids for kind, ids in found.items() if ids != self.empty.get(kind)}

    def each(self, numbers: Iterable[int], point: Callable[[int], None]) -> None:
        """Go through a point with every number, each in a new account: what fails does not keep the
        others from being tried."""
        failed = {}
        for number in numbers:
            self.begin()
            try:
                point(number)
            except AssertionError as error:
                failed[number] = str(error)
                print(f"{number} FAILED: {error}", flush=True)
        assert not failed


@contextmanager
def _drill(aws: PretendAws, inventory: Path, state: Path, **clock: Any) -> Iterator[AwsDrill]:
    variables = yaml.safe_load(inventory.read_text())
    # Everything of this run goes; what an earlier one kept does not
    variables["all"]["vars"] |= {"network_zones": ZONES, "bucket_keep": False}
    inventory.write_text(yaml.safe_dump(variables))
    inventories = ["inventories/eks-gpu.yaml", str(inventory)]
    rehearsal = Rehearsal(inventories, ROLES, state, with_kept=False, **clock)
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
    def point(number: int) -> None:
        # The last few may not be reached: how many events there are differs by how steps fall
        # together.
        assert world.rehearsal.create(kill_at=number)["code"] in (-9, 0)
        world.create()
        assert _same(shape(world.aws), world.whole)
        world.teardown()

    world.each(_chosen(world.events), point)


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
    print(f"create {making}, teardown {deleting}")

    def point(number: int) -> None:
        world.lag(LAG_SECONDS / SPEED)
        if number <= making:
            world.cut("create", number, lost)
        world.create()
        world.lag(0.0)
        assert _same(shape(world.aws), world.whole)
        world.lag(LAG_SECONDS / SPEED)
        if number <= deleting:
            world.cut("teardown", number, lost)
        world.teardown()

    world.each(_chosen(max(making, deleting), part, LAG_PARTS), point)


def test_with_every_answer_lost_in_turn_there_is_one_of_each_thing(world: AwsDrill) -> None:
    def point(number: int) -> None:
        world.cut("create", number, lost=True)
        assert _same(shape(world.aws), world.whole)
        world.teardown()

    world.each(_chosen(world.changes), point)


def test_with_a_fifth_of_all_calls_throttled_it_converges_and_goes_again(world: AwsDrill) -> None:
    world.aws.fault("throttle", probability=0.2, seed=11)
    world.create()
    assert _same(shape(world.aws), world.whole)
    world.teardown()


def test_teardown_from_every_partial_state_ends_empty_and_leaves_others_alone(
    world: AwsDrill,
) -> None:
    def point(number: int) -> None:
        world.rehearsal.create(kill_at=number)
        world.teardown()

    world.each(_chosen(world.events), point)


def _same(one: Listing, other: Listing) -> bool:
    """Alike, but for the ids that services give to what they make."""
    made_up = ("identity provider",)
    assert {kind: names for kind, names in one.items() if kind not in made_up} == {
        kind: names for kind, names in other.items() if kind not in made_up
    }
    return {kind: len(names) for kind, names in one.items()} == {
        kind: len(names) for kind, names in other.items()
    }
