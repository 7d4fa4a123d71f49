"""invoke cost, and --max-hourly: what a plan costs by the table alone, without an account."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from playrunner.cloud import prices
from tests.support.runner import invoke

NODES = [
    {"name": "gpu", "instance_types": ["g4dn.xlarge"], "capacity_type": "SPOT", "min_size": 2},
    {"name": "odd", "instance_types": ["m5.4xlarge"], "min_size": 1},
]


@pytest.fixture
def inventory(tmp_path: Path) -> Path:
    """An inventory that leads to no account."""
    file = tmp_path / "inventory.yaml"
    file.write_text(
        json.dumps(
            {
                "all": {
                    "vars": {
                        "cluster_name": "demo",
                        "aws_region": "us-west-2",
                        "eks_nodegroups": NODES,
                    }
                }
            }
        )
    )
    return file


def test_a_plan_is_priced_thing_by_thing_with_the_date_and_source_of_the_prices(
    inventory: Path, tmp_path: Path
) -> None:
    shown = invoke("cost", "--inventory", inventory, "--json", state=tmp_path)
    assert shown.code == 0, shown.text
    told = shown.data
    plan = {thing["thing"]: thing["hourly"] for thing in told["plan"]}
    assert plan["gpu: 2 x g4dn.xlarge spot"] == 1.052 and plan["control plane demo"] == 0.1
    assert (
        plan["demo-jumphost: 1 x t3.large"] == 0.0832
        and plan["demo-fsx: 1200 GiB Lustre PERSISTENT_1"] == 0.47671
    )
    assert "odd: 1 x m5.4xlarge" in told["unpriced"] and told["at_most"]
    assert told["hourly"] == pytest.approx(sum(price for price in plan.values() if price), abs=1e-3)
    assert told["daily"] == pytest.approx(told["hourly"] * 24, abs=1e-3)
    assert told["monthly"] == pytest.approx(told["hourly"] * prices.HOURS, abs=0.01)
    assert told["prices"] == {"dated": prices.DATED, "source": prices.SOURCE}


def test_the_plans_of_both_clouds_stand_in_one_table_which_says_what_it_leaves_out(
    inventory: Path, tmp_path: Path
) -> None:
    both = json.dumps(
        {"cloud": ["aws", "gcp"], "gcp_zone": "us-central1-a", "gcp_project": "demo-project"}
    )
    words = ("cost", "--inventory", inventory, "--extra-vars", both)
    told = invoke(*words, "--json", state=tmp_path).data
    plan = {thing["thing"]: thing for thing in told["plan"]}
    assert (plan["control plane demo"]["role"], plan["GKE control plane demo"]["role"]) == (
        "eks",
        "gke",
    )
    assert (
        plan["demo-nfs: 1000 GiB pd-ssd"]["hourly"] == 0.23288
        and plan["demo-jumphost: 1 x t3.large"]["hourly"] == 0.0832
    )
    assert told["hourly"] == pytest.approx(
        sum(thing["hourly"] or 0.0 for thing in told["plan"]), abs=1e-3
    )
    assert {"traffic", "requests", "logs", "discounts"} < set(told["not_priced"])
    table = invoke(*words, state=tmp_path).out
    assert (
        all(left_out in table for left_out in told["not_priced"])
        and prices.DATED in table
        and prices.SOURCE in table
    )


def test_only_the_roles_asked_for_are_priced(inventory: Path, tmp_path: Path) -> None:
    shown = invoke("cost", "--inventory", inventory, "--roles", "fsx", state=tmp_path)
    assert shown.code == 0, shown.text
    lines = [line.split("  ")[0] for line in shown.out.splitlines()]
    assert lines[:4] == [
        "thing",
        "1 NAT gateway with address",
        "demo-fsx: 1200 GiB Lustre PERSISTENT_1",
        "total",
    ]
    assert prices.DATED in shown.out and prices.SOURCE in shown.out


def test_your_own_prices_come_before_those_of_the_table(inventory: Path, tmp_path: Path) -> None:
    own = json.dumps({"preflight_prices": {"m5.4xlarge": 0.5, "g4dn.xlarge": 0.25}})
    told = invoke(
        "cost",
        "--inventory",
        inventory,
        "--roles",
        "eks",
        "--extra-vars",
        own,
        "--json",
        state=tmp_path,
    ).data
    plan = {thing["thing"]: thing["hourly"] for thing in told["plan"]}
    assert (
        plan["odd: 1 x m5.4xlarge"] == 0.5
        and plan["gpu: 2 x g4dn.xlarge spot"] == 0.5
        and not told["unpriced"]
    )


def test_a_node_group_without_types_is_told(inventory: Path, tmp_path: Path) -> None:
    wrong = json.dumps({"eks_nodegroups": [{"name": "gpu"}]})
    shown = invoke(
        "cost", "--inventory", inventory, "--roles", "eks", "--extra-vars", wrong, state=tmp_path
    )
    assert (
        shown.code == 2
        and "gpu has no instance_types" in shown.err
        and "Traceback" not in shown.text
    )


def test_a_limit_that_nobody_would_keep_is_refused(inventory: Path, tmp_path: Path) -> None:
    shown = invoke("registry.create", "--inventory", inventory, "--max-hourly", 5, state=tmp_path)
    assert shown.code == 5 and "--max-hourly cannot be enforced" in shown.err
    shown = invoke("efs.create", "--inventory", inventory, "--max-hourly", "five", state=tmp_path)
    assert shown.code == 5 and 'takes US dollars per hour, as 12.50, not "five"' in shown.err
