"""Each permission denied in turn: a run names the one that it lacks, and the next run, which has
it, goes on from there.

By default a few of them, of two roles; the drill denies all that create, repeat, status, scale and
teardown of all roles need. PLAYRUNNER_DENIED=ec2:CreateVpc,eks:CreateCluster denies those alone.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from tests.support.aws.denying import Calls, Denials
from tests.support.aws.rehearsing import Rehearsal
from tests.support.aws.role_listing import everything, shape
from tests.support.aws.sandbox import PretendAws

ROLES = ("preflight", "eks", "efs", "fsx", "registry", "bucket")
FEW_ROLES = ("registry", "bucket")
FEW = {
    "create": ("ssm:PutParameter", "ecr:CreateRepository", "ssm:DeleteParameter"),
    "status": ("ecr:DescribeRepositories",),
    "teardown": ("s3:DeleteBucket",),
}
CHOSEN = tuple(filter(None, os.environ.get("PLAYRUNNER_DENIED", "").split(",")))
# Nothing lags here; what cannot be deleted without the permission is waited for, by a faster clock
SPEED = 5.0


def _chosen(calls: Calls, names: tuple[str, ...]) -> Calls:
    return {name: call for name, call in calls.items() if not names or name in names}


@pytest.fixture
def few(aws: PretendAws, inventory: Path, tmp_path: Path) -> Iterator[Denials]:
    rehearsal = Rehearsal([str(inventory)], FEW_ROLES, tmp_path / "state")
    try:
        yield Denials(aws, rehearsal)
    finally:
        rehearsal.close()


@pytest.fixture
def all_roles(aws: PretendAws, inventory: Path, tmp_path: Path) -> Iterator[Denials]:
    variables = yaml.safe_load(inventory.read_text())
    group = {"name": "workers", "instance_types": ["g4dn.xlarge"], "max_size": 8}
    variables["all"]["vars"] |= {
        "network_zones": ["us-west-2a", "us-west-2b"],
        "workers": 1,
        "eks_nodegroups": [{**group, "min_size": "{{ workers | int }}"}],
    }
    inventory.write_text(yaml.safe_dump(variables))
    inventories = ["inventories/eks-gpu.yaml", str(inventory)]
    rehearsal = Rehearsal(inventories, ROLES, tmp_path / "state", speed=SPEED)
    try:
        yield Denials(aws, rehearsal)
    finally:
        rehearsal.close()


def test_a_permission_that_is_denied_is_named_and_the_next_run_goes_on(
    aws: PretendAws, few: Denials
) -> None:
    empty = everything(aws)
    create, teardown = few.whole(few.rehearsal.create()), few.whole(few.rehearsal.teardown())
    making = _chosen(create, FEW["create"])
    few.deny_each(making, few.rehearsal.create)
    few.whole(few.rehearsal.create())
    looking = _chosen(few.whole(few.rehearsal.status()), FEW["status"])
    few.deny_each(looking, few.rehearsal.status)
    deleting = _chosen(teardown, FEW["teardown"])
    few.deny_each(deleting, few.rehearsal.teardown)
    few.whole(few.rehearsal.teardown())
    assert everything(aws) == empty
    assert not few.unnamed and not {**making, **looking, **deleting}


@pytest.mark.drill
def test_each_permission_of_create_repeat_status_scale_and_teardown_is_named_when_denied(
    aws: PretendAws, all_roles: Denials
) -> None:
    drill, rehearsal = all_roles, all_roles.rehearsal
    empty = everything(aws)
    create = drill.whole(rehearsal.create())
    whole = shape(aws)
    repeat = drill.whole(rehearsal.create())
    status = drill.whole(rehearsal.status())
    scale = drill.whole(rehearsal.create(workers=2))
    drill.whole(rehearsal.create(workers=3))
    teardown = drill.whole(rehearsal.teardown())
    assert everything(aws) == empty
    making, looking = _chosen(create, CHOSEN), _chosen(status, CHOSEN)
    again = _chosen({name: call for name, call in repeat.items() if name not in create}, CHOSEN)
    growing = _chosen({name: call for name, call in scale.items() if name not in create}, CHOSEN)
    deleting = _chosen(
        {name: call for name, call in teardown.items() if name not in create}, CHOSEN
    )
    wanted = making, looking, again, growing, deleting
    remaining, before = sum(map(len, wanted)), -1
    # A round makes everything and tears it down; of what a run asks for beside each other, it
    # reaches one
    while remaining and remaining != before:
        print(f"{remaining} left", flush=True)
        drill.deny_each(making, rehearsal.create)
        drill.whole(rehearsal.create())
        assert {kind: len(names) for kind, names in shape(aws).items()} == {
            kind: len(names) for kind, names in whole.items()
        }
        drill.deny_each(again, rehearsal.create)
        drill.deny_each(looking, rehearsal.status)
        drill.deny_each(growing, lambda: rehearsal.create(workers=2))
        drill.deny_each(deleting, rehearsal.teardown)
        drill.whole(rehearsal.teardown())
        assert everything(aws) == empty
        remaining, before = sum(map(len, wanted)), remaining
    unreached = [name for calls in wanted for name in calls]
    assert not drill.unnamed and not unreached, (
        unreached,
        "\n".join(f"{name}: {text}" for name, text in drill.unnamed.items()),
    )
