"""Drills: a run of the Google Cloud roles is cut short everywhere it can be; what is left is
brought to its end, or to nothing.

All of them take some minutes; PLAYRUNNER_DRILL_EVERY=7 takes every seventh.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip(
    "google.auth", reason='Google Cloud needs google-auth: pip install "playrunner[gcp]"'
)

from tests.support.aws.rehearsing import Rehearsal
from tests.support.gcp.role_stage import moving_gcp, written  # noqa: F401
from tests.support.gcp.sandbox import PretendGcp
from tests.support.until import until

EVERY = int(os.environ.get("PLAYRUNNER_DRILL_EVERY", "1"))

pytestmark = pytest.mark.drill


class GcpDrill:
    """A project, the process that works in it, and what it looked like after a whole run."""

    def __init__(self, gcp: PretendGcp, rehearsal: Rehearsal) -> None:
        self.gcp, self.rehearsal = gcp, rehearsal
        self.before = gcp.everything()
        self.events = self.create()["events"]
        self.whole = self.shape()
        self.changes = sum(call["mutating"] for call in gcp.calls())
        self.teardown()

    def create(self) -> dict[str, Any]:
        ran = self.rehearsal.create()
        assert ran["code"] == 0, ran["text"]
        return ran

    def teardown(self) -> None:
        ran = self.rehearsal.teardown()
        assert ran["code"] == 0, ran["text"]
        assert self.gcp.everything() == self.before

    def shape(self) -> dict[str, list[str]]:
        """What there is, with the ids that Google makes up left out of names."""
        found = self.gcp.everything()
        pools = [
            pool["name"]
            for cluster in self.gcp.get("v1/projects/{p}/locations/-/clusters")["clusters"]
            for pool in cluster["nodePools"]
        ]
        made_up = ("instances", "firewall rule")
        return {
            **{
                kind: names if kind not in made_up else [str(len(names))]
                for kind, names in found.items()
            },
            "pools": pools,
        }


@pytest.fixture
def world(moving_gcp: PretendGcp, tmp_path: Path) -> Iterator[GcpDrill]:
    """The cluster, its pools, the driver, the disk and the server on it; beside them a disk of
    somebody else's."""
    gcp = moving_gcp
    gcp.control("POST", "reset")
    gcp.delays(**{"*": 0.0})
    until(
        lambda: gcp.control("GET", "settings")["gke_endpoint"], bool
    )  # from now on clusters lead to the API
    theirs = {
        "name": "drill-theirs",
        "sizeGb": "10",
        "type": "pd-ssd",
        "labels": {"owner": "somebody-else"},
    }
    gcp.done("POST", "compute/v1/projects/{p}/zones/{z}/disks", theirs)
    gcp.control("DELETE", "calls")
    inventory = written(gcp, tmp_path, kubeconfig=str(tmp_path / "kubeconfig"))
    rehearsal = Rehearsal(
        ["inventories/gke.yaml", str(inventory)], ("gke", "nfs"), tmp_path / "state"
    )
    try:
        yield GcpDrill(gcp, rehearsal)
    finally:
        rehearsal.close()


def _chosen(count: int) -> Iterator[int]:
    first = min(EVERY + 1, count + 1) // 2  # at least one, from the middle
    for number in range(first, count + 1, EVERY):
        print(f"{number} of {count}", flush=True)  # pytest -s shows how far it is
        yield number


def test_killed_at_every_event_the_next_run_converges_and_a_killed_teardown_too(
    world: GcpDrill,
) -> None:
    for number in _chosen(world.events):
        assert world.rehearsal.create(kill_at=number)["code"] in (-9, 0)
        world.create()
        assert world.shape() == world.whole, f"killed at event {number}"
        assert world.rehearsal.teardown(kill_at=number)["code"] in (-9, 0)
        world.teardown()


def test_teardown_from_every_partial_state_ends_empty_and_leaves_others_alone(
    world: GcpDrill,
) -> None:
    for number in _chosen(world.events):
        world.rehearsal.create(kill_at=number)
        world.teardown()


@pytest.mark.parametrize("kind", ["lost", "error", "reset"])
def test_with_a_fault_at_every_change_in_turn_there_is_one_of_each_thing(
    world: GcpDrill, kind: str
) -> None:
    for number in _chosen(world.changes):
        world.gcp.fault(kind, mutating=True, nth=number)
        world.create()
        world.gcp.control("DELETE", "faults")
        assert world.shape() == world.whole, f"{kind} at change {number}"
        world.gcp.fault(kind, mutating=True, nth=number)
        world.teardown()
        world.gcp.control("DELETE", "faults")


def test_with_a_fifth_of_all_calls_throttled_it_converges_and_goes_again(world: GcpDrill) -> None:
    world.gcp.fault("throttle", probability=0.2, seed=11)
    world.create()
    assert world.shape() == world.whole
    world.gcp.control("DELETE", "faults")
    world.teardown()
