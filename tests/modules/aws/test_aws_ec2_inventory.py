"""The inventory plugin aws_ec2: instances of the pretend AWS as hosts."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from playrunner.commands.inventory_show import as_data
from playrunner.errors import BadInput
from playrunner.inventory.inventory import Inventory, read_inventory
from playrunner.plugins import collections
from playrunner.ssh.targets import target_of
from playrunner.variables.host_memory import RunVariables
from playrunner.variables.scope import Scope
from playrunner.variables.templating import default_templar
from tests.support.aws.module_stage import AwsStage

IMAGE = "ami-0a1000000000000a1"
Read = Callable[..., Inventory]


@pytest.fixture
def read(stage: AwsStage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Read:
    """Three instances, and a function that reads an inventory with some options."""
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", stage.aws.up.access_key_id)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", stage.aws.up.secret_access_key)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    ec2 = stage.aws.client("ec2")
    _, subnets = stage.aws.network()
    for name, role in (("web-1", "web"), ("web-2", "web"), ("db:1", "{{ 'd' ~ 'b' }}")):
        ec2.run_instances(
            ImageId=IMAGE,
            MinCount=1,
            MaxCount=1,
            InstanceType="m5.large",
            SubnetId=subnets[0],
            TagSpecifications=[
                {
                    "ResourceType": "instance",
                    "Tags": [{"Key": "Name", "Value": name}, {"Key": "Role", "Value": role}],
                }
            ],
        )

    def read_with(**options: Any) -> Inventory:
        given = {
            "plugin": "amazon.aws.aws_ec2",
            "endpoint_url": stage.aws.up.endpoint_url,
            "regions": [stage.aws.up.region],
            **options,
        }
        path = tmp_path / "demo.aws_ec2.yml"
        path.write_text(yaml.safe_dump(given, sort_keys=False))
        return read_inventory([path])

    return read_with


def test_instances_are_hosts_with_their_fields_as_variables(read: Read) -> None:
    inventory = read(hostnames=["tag:Name"])
    assert sorted(inventory.groups["aws_ec2"]) == ["db_1", "web-1", "web-2"]
    variables = {name: each.value for name, each in inventory.variables("web-1").items()}
    assert variables["instance_type"] == "m5.large"
    assert variables["placement"]["region"] == "us-west-2"
    assert variables["tags"] == {"Name": "web-1", "Role": "web"}


def test_filters_include_and_exclude(read: Read) -> None:
    names = {"hostnames": ["tag:Name"]}
    assert set(read(filters={"tag:Role": "web"}, **names).hosts) == {"web-1", "web-2"}
    chosen = read(
        filters={"tag:Name": ["web-1"]},
        include_filters=[{"tag:Name": "db:1"}, {"tag:Name": "web-2"}],
        exclude_filters=[{"tag:Name": "web-2"}],
        **names,
    )
    assert set(chosen.hosts) == {"web-1", "db_1"}


def test_groups_and_variables_are_made_of_the_fields(read: Read) -> None:
    inventory = read(
        hostnames=["tag:Name"],
        compose={"ansible_host": "private_ip_address", "ansible_user": "'ubuntu'"},
        groups={"webs": "'web' in inventory_hostname and ansible_user == 'ubuntu'"},
        keyed_groups=[{"prefix": "role", "key": "tags.Role", "parent_group": "roles"}],
    )
    assert set(inventory.groups["webs"]) == {"web-1", "web-2"}
    assert set(inventory.groups["role_web"]) == {"web-1", "web-2"}
    assert set(inventory.groups["roles"]) == {"web-1", "web-2", "db_1"}
    target = target_of(Scope(RunVariables(inventory, default_templar, {}, {}), "web-1"))
    assert target.user == "ubuntu" and target.address.startswith("192.168.")


def test_text_of_the_cloud_is_never_a_template(read: Read) -> None:
    inventory = read(hostnames=["tag:Name"], compose={"role": "tags.Role"})
    scope = Scope(RunVariables(inventory, default_templar, {}, {}), "db_1")
    assert scope.lookup("role") == "{{ 'd' ~ 'b' }}"


def test_settings_that_choose_what_runs_here_are_not_made_of_tags(read: Read) -> None:
    inventory = read(hostnames=["tag:Name"], compose={"ansible_ssh_common_args": "tags.Role"})
    with pytest.raises(BadInput, match="which no playbook, inventory or command line wrote"):
        target_of(Scope(RunVariables(inventory, default_templar, {}, {}), "web-1"))


def test_every_name_that_fits_is_a_host_where_duplicates_are_allowed(read: Read) -> None:
    inventory = read(
        filters={"tag:Name": "web-1"},
        allow_duplicated_hosts=True,
        hostnames=[
            "tag:Name | replace('web', 'prod')",
            {"name": "instance-type", "prefix": "tag:Role", "separator": "-"},
            "tag:Role=web,Name",
            "literal",
        ],
    )
    assert set(inventory.hosts) == {"prod-1", "web-m5.large", "Role_web", "web-1", "literal"}


def test_refusals_of_the_cloud_name_the_file(stage: AwsStage, read: Read) -> None:
    stage.aws.fault("deny", action="DescribeInstances")
    with pytest.raises(BadInput, match=r"demo.aws_ec2.yml:1: the instances cannot be listed: .*"):
        read()


def test_a_wrong_option_is_refused_before_the_cloud_is_asked(stage: AwsStage, read: Read) -> None:
    with pytest.raises(BadInput, match='has no option "filter"; did you mean "filters"'):
        read(filter={})
    assert not stage.aws.calls("DescribeInstances")


def test_the_collections_own_plugin_finds_the_same(read: Read, tmp_path: Path) -> None:
    """Where amazon.aws is installed beside the tests; it is not among their requirements."""
    if not any(
        (root / "amazon" / "aws").is_dir() for root in collections.folders.collection_roots()
    ):
        pytest.skip("amazon.aws is not installed")
    inventory = read(
        hostnames=["tag:Name"],
        keyed_groups=[{"prefix": "tag", "key": "tags"}, {"key": "architecture"}],
    )
    done = subprocess.run(
        [
            str(Path(sys.executable).with_name("ansible-inventory")),
            "-i",
            str(tmp_path / "demo.aws_ec2.yml"),
            "--list",
        ],
        capture_output=True,
        text=True,
        check=True,
    )
    theirs, ours = json.loads(done.stdout), as_data(inventory)
    assert {name: group for name, group in theirs.items() if name != "_meta"} == {
        name: group for name, group in ours.items() if name != "_meta"
    }
