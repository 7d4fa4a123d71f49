"""Each permission denied in turn: a run names the one that it lacks, and the next run, which has
it, goes on from there.

By default a few of them; PLAYRUNNER_DRILL_EVERY=1 denies all, in about twenty minutes.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.aws.rehearsing import Rehearsal
from tests.support.aws.role_listing import everything, shape
from tests.support.aws.sandbox import PretendAws

EVERY = int(os.environ.get("PLAYRUNNER_DRILL_EVERY", "0"))
# Whole: all roles. By default, those that are made in a second, and a few calls of each kind.
ROLES = ("eks", "efs", "fsx", "registry", "bucket") if EVERY else ("registry", "bucket")
SAMPLED = 1
_LEASE = {"ssm:PutParameter", "ssm:GetParameter"}
# Denied, these leave a question open that is not worth a failed run.
_TOLERATED = ("pricing:", "servicequotas:")


@pytest.fixture
def rehearsal(aws: PretendAws, inventory: Path, tmp_path: Path) -> Iterator[Rehearsal]:
    names = ["inventories/eks-gpu.yaml", str(inventory)] if EVERY else [str(inventory)]
    made = Rehearsal(names, ROLES, tmp_path / "state")
    try:
        yield made
    finally:
        made.close()


def test_each_permission_denied_in_turn_is_named_and_the_next_run_goes_on(
    aws: PretendAws, rehearsal: Rehearsal
) -> None:
    empty = everything(aws)
    created = _ended(aws, rehearsal.create())
    whole = shape(aws)
    deleted = _ended(aws, rehearsal.teardown())
    assert everything(aws) == empty
    for name, call in _chosen(created):
        aws.fault("deny", service=call["service"], action=call["action"])
        _assert_named(rehearsal.create(), name)
        aws.control("DELETE", "faults")
        _ended(aws, rehearsal.create())
        assert shape(aws) == whole or EVERY, f"after {name} was denied"
        _ended(aws, rehearsal.teardown())
        assert everything(aws) == empty, f"after {name} was denied"
    for name, call in _chosen(deleted, skipping=created):
        _ended(aws, rehearsal.create())
        aws.fault("deny", service=call["service"], action=call["action"])
        _assert_named(rehearsal.teardown(), name)
        aws.control("DELETE", "faults")
        _ended(aws, rehearsal.teardown())
        assert everything(aws) == empty, f"after {name} was denied"


def _ended(aws: PretendAws, ran: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """The calls of a run that went well, by the permission that each needed."""
    assert ran["code"] == 0, ran["text"]
    calls = [
        call
        for call in aws.calls(lease=True)
        if "playrunner" in call["agent"] and not call["fault"]
    ]
    aws.control("DELETE", "calls")
    return {str(call["permission"]): call for call in calls}


def _assert_named(ran: dict[str, Any], name: str) -> None:
    text = ran["text"].replace("\x1e", "")
    assert "Traceback" not in text, text
    if name.startswith(_TOLERATED):
        return
    assert ran["code"] in (2, 7), (name, text)
    told = [line for line in text.splitlines() if f"it needs the permission {name} " in line]
    assert told, f"{name} is not named in:\n{text}"


def _chosen(
    calls: dict[str, dict[str, Any]], skipping: dict[str, dict[str, Any]] | None = None
) -> list[tuple[str, dict[str, Any]]]:
    names = sorted(calls.keys() - (skipping or {}).keys() - {"sts:GetCallerIdentity"})
    if EVERY:
        chosen = names[::EVERY]
    else:
        changing = [name for name in names if calls[name]["mutating"] and name not in _LEASE]
        chosen = [*sorted(_LEASE & set(names))[-1:], *changing[:SAMPLED]]
    for number, name in enumerate(chosen, 1):
        print(f"{name}: {number} of {len(chosen)}", flush=True)
    return [(name, calls[name]) for name in chosen]
