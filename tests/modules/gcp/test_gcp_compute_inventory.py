"""The inventory plugin gcp_compute: instances of the pretend Google Cloud as hosts."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from playrunner.errors import BadInput
from playrunner.inventory.inventory import Inventory, read_inventory
from playrunner.ssh.targets import target_of
from playrunner.variables.host_memory import RunVariables
from playrunner.variables.scope import Scope
from playrunner.variables.templating import default_templar
from tests.modules.gcp.test_gke_cluster import cluster
from tests.modules.gcp.test_gke_nodepool import plain
from tests.support.gcp.module_stage import GcpStage
from tests.support.until import until

Read = Callable[..., Inventory]


@pytest.fixture
def read(stage: GcpStage, tmp_path: Path) -> Read:
    """A cluster's machines, and a function that reads an inventory with some options."""
    run = stage.play([cluster(), plain(nodes=2)])
    assert run.code == 0, run.messages
    until(
        lambda: stage.gcp.get("compute/v1/projects/{p}/zones/{z}/instances")["items"],
        lambda items: len(items) >= 2 and all(one["status"] == "RUNNING" for one in items),
    )

    def read_with(**options: Any) -> Inventory:
        given = {
            "plugin": "google.cloud.gcp_compute",
            "projects": [stage.gcp.up.project],
            "auth_kind": "serviceaccount",
            "service_account_file": stage.gcp.up.credentials_file,
            "endpoint_url": stage.gcp.up.endpoint_url,
            **options,
        }
        path = tmp_path / "demo.gcp.yml"
        path.write_text(yaml.safe_dump(given, sort_keys=False))
        return read_inventory([path])

    return read_with


def test_instances_are_hosts_with_their_fields_as_variables(stage: GcpStage, read: Read) -> None:
    inventory = read(hostnames=["name"], name_suffix=".example.com")
    assert len(inventory.hosts) >= 2
    name = next(iter(inventory.hosts))
    assert name.startswith("gke-") and name.endswith(".example.com")
    variables = {key: each.value for key, each in inventory.variables(name).items()}
    assert variables["zone"] == stage.gcp.up.zone
    assert variables["zone_selflink"].endswith(f"/zones/{stage.gcp.up.zone}")
    assert variables["machineType"].startswith("e2-standard-")
    assert variables["networkInterfaces"][0]["network"]["region"] == "global"
    assert variables["project"] == stage.gcp.up.project


def test_without_a_public_address_the_private_one_is_the_name(read: Read) -> None:
    assert all(name.startswith("10.128.") for name in read().hosts)


def test_groups_and_variables_are_made_of_the_fields(stage: GcpStage, read: Read) -> None:
    inventory = read(
        hostnames=["name"],
        compose={"ansible_host": "networkInterfaces[0].networkIP"},
        groups={"running": "status == 'RUNNING'"},
        keyed_groups=[{"prefix": "gcp", "key": "labels"}, {"prefix": "zone", "key": "zone"}],
    )
    assert set(inventory.groups["running"]) == set(inventory.hosts)
    zone = stage.gcp.up.zone.replace("-", "_")
    assert set(inventory.groups[f"zone_{zone}"]) == set(inventory.hosts)
    assert len(inventory.groups["gcp_goog_k8s_node_pool_name_cpus"]) == 2
    name = next(iter(inventory.hosts))
    target = target_of(Scope(RunVariables(inventory, default_templar, {}, {}), name))
    assert target.address.startswith("10.128.")


def test_only_the_zones_that_are_named_are_read(stage: GcpStage, read: Read) -> None:
    assert read(zones=["europe-west4-z"]).hosts == {}
    assert len(read(zones=[stage.gcp.up.zone]).hosts) >= 2


def test_all_filters_must_hold(read: Read) -> None:
    pool = "labels.goog-k8s-node-pool-name = cpus"
    assert len(read(filters=[pool, "status = RUNNING"], hostnames=["name"]).hosts) == 2
    assert read(filters=[pool, "status = TERMINATED"], hostnames=["name"]).hosts == {}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"auth_kind": "magic"}, "auth_kind is one of application, serviceaccount"),
        ({"auth_kind": "accesstoken"}, "auth_kind: accesstoken needs access_token"),
        ({"projects": []}, "no project is named"),
        ({"hostnames": ["dns"]}, "hostnames cannot have 'dns'"),
        ({"hostnames": ["public_ip"]}, "has none of the names public_ip"),
        ({"zone": "a"}, 'has no option "zone"; did you mean "zones"'),
        (
            {"service_account_file": "", "service_account_contents": "{"},
            "service_account_contents is not the JSON of a service account's file",
        ),
    ],
)
def test_wrong_options_are_refused(read: Read, options: dict[str, Any], message: str) -> None:
    with pytest.raises(BadInput, match=message) as refusal:
        read(**options)
    assert "demo.gcp.yml" in str(refusal.value)


def test_a_token_can_be_given(stage: GcpStage, read: Read) -> None:
    token = Path(stage.gcp.up.token_file).read_text().strip()
    inventory = read(auth_kind="accesstoken", access_token=token, hostnames=["name"])
    assert len(inventory.hosts) >= 2
