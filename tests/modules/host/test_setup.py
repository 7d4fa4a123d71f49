"""host.setup: facts, checked against what the machine says in other ways."""

from __future__ import annotations

import getpass
import json
import os
import socket
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from playrunner.hostside.module import Failed
from playrunner.hostside.perform import perform
from playrunner.modules.host import _facts_distribution, _facts_system
from playrunner.modules.host._facts_hardware import readable
from playrunner.modules.host.setup import Setup, chosen_groups
from tests.support.host.performing import context, done

linux = pytest.mark.skipif(sys.platform != "linux", reason="read from /proc")


def facts(**how: Any) -> dict[str, Any]:
    found: dict[str, Any] = done(Setup(**how))["ansible_facts"]
    return found


def test_they_are_plain_values() -> None:
    found = facts()
    assert json.loads(json.dumps(found)) == found and found["module_setup"] is True
    assert found["gather_subset"] == ["all"]


def test_the_machine_and_the_login_are_told() -> None:
    found, name = facts(), os.uname()
    assert (found["system"], found["kernel"], found["machine"], found["nodename"]) == (
        name.sysname,
        name.release,
        name.machine,
        name.nodename,
    )
    assert (found["user_id"], found["user_uid"]) == (getpass.getuser(), os.geteuid())
    assert found["user_dir"] == os.path.expanduser("~")
    assert found["python_version"] == ".".join(map(str, sys.version_info[:3]))
    assert found["env"]["PATH"] == os.environ["PATH"]


def test_the_clock_is_told_in_all_spellings() -> None:
    clock = facts()["date_time"]
    assert abs(int(clock["epoch"]) - time.time()) < 5
    assert clock["date"] == f"{clock['year']}-{clock['month']}-{clock['day']}"
    assert clock["time"] == f"{clock['hour']}:{clock['minute']}:{clock['second']}"
    assert clock["iso8601_basic"].startswith(clock["iso8601_basic_short"]) and clock[
        "iso8601_micro"
    ].endswith("Z")


@linux
def test_hardware_is_told() -> None:
    found = facts()
    assert (
        found["processor_nproc"] == len(os.sched_getaffinity(0)) and found["processor_vcpus"] >= 1
    )
    assert (
        found["memory_mb"]["real"]["total"]
        == found["memtotal_mb"]
        == os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 1024 // 1024
    )
    assert all(entry["mount"].startswith("/") and entry["fstype"] for entry in found["mounts"])


@linux
def test_networks_are_told() -> None:
    found = facts()
    assert sorted(found["interfaces"]) == sorted(name for _, name in socket.if_nameindex())
    assert found["lo"]["ipv4"] == {
        "address": "127.0.0.1",
        "netmask": "255.0.0.0",
        "network": "127.0.0.0",
        "prefix": "8",
        "broadcast": "",
    }
    assert "127.0.0.1" not in found["all_ipv4_addresses"]
    if found["default_ipv4"]:
        one = found["default_ipv4"]
        assert found[one["interface"].replace("-", "_")]["ipv4"]["address"] == one["address"]
        assert one["address"] in found["all_ipv4_addresses"]


def test_a_subset_leaves_the_rest_out() -> None:
    least = facts(gather_subset=["!all"])
    assert "distribution" in least and "hostname" in least
    assert not {"interfaces", "memtotal_mb", "virtualization_type"} & set(least)
    assert facts(gather_subset=["min"]).keys() == least.keys()
    network = facts(gather_subset=["network"])
    assert "interfaces" in network and "distribution" in network and "memtotal_mb" not in network
    only = facts(gather_subset=["!all", "!min", "network"])
    assert "interfaces" in only and "distribution" not in only
    without = facts(gather_subset=["!hardware"])
    assert "interfaces" in without and "memtotal_mb" not in without


def test_an_unknown_subset_is_refused() -> None:
    with pytest.raises(Failed, match="Bad subset 'netwrok'"):
        chosen_groups(["netwrok"])


def test_a_filter_keeps_what_matches_with_or_without_prefix() -> None:
    assert {"distribution", "distribution_version"} <= set(facts(filter=["distribution*"]))
    assert "hostname" not in facts(filter=["distribution*"])
    assert set(facts(filter=["ansible_hostname"])) == {"hostname", "gather_subset", "module_setup"}


def test_a_host_keeps_facts_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "role.fact").write_text('{"kind": "worker"}')
    (tmp_path / "old.fact").write_text("[general]\nRack = 7\n")
    (tmp_path / "made-up.fact").write_text("#!/bin/sh\necho '[1, 2]'\n")
    (tmp_path / "made-up.fact").chmod(0o755)
    (tmp_path / "broken.fact").write_text("nothing")
    ctx = context()
    local = perform(Setup(fact_path=str(tmp_path), gather_subset=["min"]), ctx)["ansible_facts"][
        "local"
    ]
    assert (local["role"], local["old"], local["made_up"]) == (
        {"kind": "worker"},
        {"general": {"rack": "7"}},
        [1, 2],
    )
    assert "broken.fact" in local["broken"] and "broken.fact" in ctx.warnings[0]


def test_a_resolver_that_does_not_answer_holds_nothing_up(monkeypatch: pytest.MonkeyPatch) -> None:
    answer = threading.Event()

    def silent(name: str) -> None:
        answer.wait(30)
        raise OSError("no answer")

    monkeypatch.setattr("_socket.gethostbyaddr", silent)
    monkeypatch.setattr(_facts_system, "NAME_LOOKUP_SECONDS", 0.05)
    began = time.monotonic()
    assert facts(gather_subset=["min"])["fqdn"] == os.uname().nodename
    assert time.monotonic() - began < 5
    answer.set()


@pytest.mark.parametrize(
    ("release", "name", "family"),
    [
        ({"ID": "ubuntu", "VERSION_ID": "24.04", "VERSION_CODENAME": "noble"}, "Ubuntu", "Debian"),
        ({"ID": "amzn", "VERSION_ID": "2023", "NAME": "Amazon Linux"}, "Amazon", "RedHat"),
        ({"ID": "rhel", "VERSION_ID": "9.4", "VERSION": "9.4 (Plow)"}, "RedHat", "RedHat"),
        ({"ID": "novel", "VERSION_ID": "1", "NAME": "Novel OS"}, "Novel", "Novel"),
    ],
)
def test_distributions_are_spelled_as_playbooks_spell_them(
    monkeypatch: pytest.MonkeyPatch, release: dict[str, str], name: str, family: str
) -> None:
    monkeypatch.setattr(_facts_distribution, "os_release", lambda: release)
    found = _facts_distribution.distribution()
    assert (found["distribution"], found["os_family"]) == (name, family)
    assert found["distribution_version"] == release["VERSION_ID"]


def test_sizes_are_readable() -> None:
    assert (readable(0), readable(1536), readable(256 * 1024**3)) == (
        "0.00 Bytes",
        "1.50 KB",
        "256.00 GB",
    )
