"""Inventories: what Ansible reads, we read the same; what is wrong is refused with file, line and
remedy."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from playrunner.commands.inventory_show import as_data
from playrunner.errors import Place
from playrunner.inventory.inventory import read_inventory
from tests.support.inventories import (
    Write,
    values,
    write,  # noqa: F401
)

SAMPLES = Path(__file__).parent / "inventories"


SCRIPT = """#!/bin/sh
if [ "$1" = --list ]; then
  echo '{"g": ["a", "b"], "sole": {"y": 2},
    "h": {"hosts": ["c"], "vars": {"x": 1}, "children": ["g", "later"]}%s}'
else
  echo "{\\"asked\\": \\"$2\\"}"
fi
"""


META = ', "_meta": {"hostvars": {"a": {"y": 2}, "nowhere": {"z": 1}}}'


# Compared with ansible-inventory


def ansible_says(sources: list[str], cwd: Path, *flags: str) -> Any:
    beside_python = str(Path(sys.executable).parent)
    program = shutil.which("ansible-inventory", path=beside_python) or shutil.which(
        "ansible-inventory"
    )
    if program is None:
        pytest.skip("ansible-core is not installed")
    asked = [part for source in sources for part in ("-i", source)]
    done = subprocess.run(
        [program, *asked, "--list", *flags], cwd=cwd, capture_output=True, text=True, check=True
    )
    answer = json.loads(done.stdout)
    answer["_meta"].pop("profile", None)
    return answer


@pytest.mark.parametrize(
    "sources",
    [
        ["cluster.yaml"],
        ["cluster.ini"],
        ["mixed"],
        ["cluster.yaml", "mixed", "cluster.ini"],
        ["one,two:22,[2001:db8::1]:5,"],
    ],
    ids=" ".join,
)
def test_inventories_read_as_ansible_reads_them(sources: list[str], tmp_path: Path) -> None:
    paths = [source if "," in source else str(SAMPLES / source) for source in sources]
    assert as_data(read_inventory(paths)) == ansible_says(paths, tmp_path)


@pytest.mark.parametrize("meta", [META, ""], ids=["with _meta", "asked host by host"])
def test_scripts_read_as_ansible_reads_them(meta: str, write: Write, tmp_path: Path) -> None:
    script = str(write("inventory.sh", SCRIPT % meta))
    assert as_data(read_inventory([script])) == ansible_says([script], tmp_path)


def test_variables_beside_the_playbook_rank_as_with_ansible(tmp_path: Path) -> None:
    beside = SAMPLES / "beside_playbook"
    inventory = read_inventory([SAMPLES / "mixed"]).with_adjacent(beside)
    assert as_data(inventory) == ansible_says(
        [str(SAMPLES / "mixed")], tmp_path, "--playbook-dir", str(beside)
    )


# Reading


def test_hosts_and_groups_come_in_inventory_order() -> None:
    inventory = read_inventory([SAMPLES / "cluster.yaml"])
    gpu, v6, big = (
        [f"node0{n}" for n in range(1, 5)],
        ["2001:db8::1", "2001:db8::2"],
        ["biga", "bigb", "bigc"],
    )
    assert list(inventory.hosts) == ["bastion", "lone", *gpu, "x.example.com", *v6, *big]
    assert inventory.groups["all"] == tuple(inventory.hosts)
    assert inventory.groups["ungrouped"] == ("bastion", "lone")
    assert inventory.groups["gpu"] == (*gpu, *big)
    assert inventory.groups["site"] == (*gpu, *v6, *big)
    assert inventory.groups["empty"] == ()


def test_a_host_knows_its_groups_from_the_outermost_in() -> None:
    host = read_inventory([SAMPLES / "cluster.yaml"]).hosts["biga"]
    assert host.groups == ("all", "site", "gpu", "gpu_big")
    assert host.group_names == ["gpu", "gpu_big", "site"]


def test_a_deeper_group_wins_and_priority_decides_within_a_depth() -> None:
    inventory = read_inventory([SAMPLES / "cluster.yaml"])
    assert values(inventory, "biga")["level"] == "gpu_big"
    assert values(inventory, "node04")["level"] == "gpu"
    assert values(inventory, "node02")["level"] == "host"
    assert values(inventory, "x.example.com")["level"] == "ready"
    assert values(inventory, "lone")["level"] == "all"


def test_ini_values_are_python_literals_where_they_can_be() -> None:
    lone = values(read_inventory([SAMPLES / "cluster.ini"]), "lone")
    assert lone == {
        "level": "all",
        "ansible_port": 2200,
        "zone": "eu west",
        "quoted": "x",
        "truth": True,
        "nothing": None,
        "list": [1, 2],
        "table": {"a": 1},
        "ratio": 1.5,
    }


def test_every_value_knows_the_file_and_line_that_gave_it() -> None:
    yaml, ini, mixed = (
        read_inventory([SAMPLES / name]) for name in ("cluster.yaml", "cluster.ini", "mixed")
    )
    assert yaml.variables("node02")["rack"].place == Place(str(SAMPLES / "cluster.yaml"), 18)
    assert yaml.variables("node02")["rack"].layer == "host node02"
    assert ini.variables("node02")["sentence"].place == Place(str(SAMPLES / "cluster.ini"), 12)
    assert ini.variables("node02")["sentence"].layer == "group gpu"
    assert ini.variables("node02")["rack"].place.line == 7
    assert mixed.variables("node1")["order"].place == Place(
        str(SAMPLES / "mixed/group_vars/gpu/b"), 1
    )
    assert mixed.variables("node1")["order"].layer == "group_vars/gpu"


def test_files_and_folder_of_an_inventory_are_named() -> None:
    inventory = read_inventory([SAMPLES / "mixed"])
    assert [file.name for file in inventory.files] == ["10-base.yaml", "20-more.ini"]
    assert inventory.directory == SAMPLES / "mixed"


def test_a_file_without_ending_is_yaml_or_ini_by_its_content(write: Write) -> None:
    assert list(read_inventory([write("a", "# hosts\nall: {hosts: {one: }}\n")]).hosts) == ["one"]
    assert list(read_inventory([write("b", "one a=1\n[g]\ntwo\n")]).hosts) == ["one", "two"]


def test_a_stray_executable_bit_does_not_make_a_script(write: Write) -> None:
    path = write("hosts.yaml", "all: {hosts: {one: }}\n")
    path.chmod(0o755)
    assert list(read_inventory([path]).hosts) == ["one"]


def test_localhost_is_there_without_being_listed(write: Write) -> None:
    inventory = read_inventory(
        [write("i.yaml", "all: {vars: {a: 1, ansible_connection: ssh}, hosts: {one: }}\n")]
    )
    assert values(inventory, "localhost") == {
        "a": 1,
        "ansible_connection": "local",
        "ansible_python_interpreter": sys.executable,
    }
    assert "localhost" not in inventory.hosts and inventory.host("localhost").group_names == []


def test_a_listed_localhost_is_an_ordinary_host(write: Write) -> None:
    inventory = read_inventory([write("i.yaml", "all: {hosts: {localhost: {a: 1}}}\n")])
    assert values(inventory, "localhost") == {"a": 1}


# Growing during a run


def test_an_added_host_is_seen_by_every_inventory_that_shares_it(write: Write) -> None:
    inventory = read_inventory([write("i.ini", "[gpu]\none\n[gpu:vars]\na=1\n")])
    beside = inventory.with_adjacent(SAMPLES / "beside_playbook")
    assert values(beside, "one")["order"] == "playbook"
    inventory.add_host("two", ["gpu", "fresh"], {"b": 2})
    assert beside.groups["gpu"] == ("one", "two") and beside.groups["fresh"] == ("two",)
    assert values(inventory, "two") == {"a": 1, "b": 2}
    assert values(beside, "two")["order"] == "playbook"


def test_a_host_without_groups_is_ungrouped_until_it_is_put_in_one(write: Write) -> None:
    inventory = read_inventory([write("i.ini", "one\n")])
    inventory.add_host("two", [], {})
    assert list(inventory.groups["ungrouped"]) == ["one", "two"]
    inventory.add_to_group("two", "os_Debian", ["os"])
    assert list(inventory.groups["ungrouped"]) == ["one"]
    assert list(inventory.groups["os"]) == ["two"]
    assert inventory.hosts["two"].group_names == ["os", "os_Debian"]


def test_hosts_added_from_many_threads_are_all_there(write: Write) -> None:
    inventory = read_inventory([write("i.ini", "[gpu]\none\n")])

    def add(number: int) -> int:
        inventory.add_host(f"new{number}", ["gpu"], {"number": number})
        return int(inventory.variables(f"new{number}")["number"].value)

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(add, range(60))) == list(range(60))
    assert set(inventory.groups["gpu"]) == {"one", *(f"new{number}" for number in range(60))}


def test_reading_two_hundred_hosts_is_not_felt(write: Write) -> None:
    path = write(
        "i.yaml",
        "gpu:\n  hosts:\n"
        + "".join(
            f"    node{number}:\n      ansible_host: 10.0.0.{number}\n      rack: {number % 7}\n"
            for number in range(200)
        ),
    )

    def seconds() -> float:
        before = time.process_time()
        inventory = read_inventory([path])
        assert len([inventory.variables(host) for host in inventory.hosts]) == 200
        return time.process_time() - before

    # About 15 ms on a 2-core machine; the rest is room for a slower one.
    assert min(seconds() for _ in range(5)) < 0.06


@pytest.mark.parametrize("order", [("eks-cpu", "local"), ("local", "eks-cpu")])
def test_a_rehearsal_keeps_the_name_and_region_of_the_inventory_beside_it(
    order: tuple[str, str],
) -> None:
    folder = Path(__file__).parents[2] / "inventories"
    rehearsed = read_inventory([folder / f"{name}.yaml" for name in order]).variables("localhost")
    assert rehearsed["cluster_name"].value == "pytorch-training-cluster"
    assert rehearsed["aws_region"].value == "us-east-1"
    alone = read_inventory([folder / "local.yaml"]).variables("localhost")
    assert (alone["cluster_name"].value, alone["aws_region"].value) == ("rehearsal", "us-west-2")
