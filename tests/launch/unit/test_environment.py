"""The environment compiler: what it decides for each site, who overrules it, and what it
refuses."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from playrunner.options import Options
from playrunner.training.environment.compiler import compile_environment
from playrunner.training.environment.conflicts import conflicting_settings
from playrunner.training.environment.machine_facts import MachineFacts
from playrunner.training.environment.rule import admits
from playrunner.training.request import Request
from playrunner.training.ssh.nodes.hosts import open_fleet
from playrunner.training.ssh.plan import environment_of, plan
from tests.support.launch.environment import (
    G5,
    NEW_PLUGIN,
    OLD_PLUGIN,
    P4D,
    SANDBOX,
    TRN1,
    fabric,
    values,
)
from trainer.profile import read_profile

# EFA, by version


def test_a_recent_plugin_needs_only_huge_pages_off() -> None:
    assert fabric(NEW_PLUGIN) == {"FI_EFA_USE_HUGE_PAGE": "0"}


def test_a_plugin_of_unknown_version_is_taken_for_a_recent_one() -> None:
    assert fabric(P4D) == {"FI_EFA_USE_HUGE_PAGE": "0"}


def test_a_plugin_before_1_7_is_told_to_use_device_rdma() -> None:
    assert fabric(replace(P4D, aws_ofi_nccl="1.6.0")) == {
        "FI_EFA_USE_HUGE_PAGE": "0",
        "FI_EFA_USE_DEVICE_RDMA": "1",
    }


def test_a_plugin_up_to_1_5_is_told_everything() -> None:
    told = {
        "FI_EFA_USE_HUGE_PAGE": "0",
        "FI_EFA_USE_DEVICE_RDMA": "1",
        "FI_PROVIDER": "efa",
        "NCCL_PROTO": "simple",
    }
    assert fabric(OLD_PLUGIN) == told


def test_an_old_libfabric_speaks_for_a_plugin_that_is_not_known() -> None:
    assert "FI_EFA_USE_DEVICE_RDMA" in fabric(replace(P4D, libfabric="1.17.1"))
    assert "FI_EFA_USE_DEVICE_RDMA" not in fabric(replace(P4D, libfabric="1.18.0"))


def test_an_old_plugin_is_not_told_to_use_device_rdma_where_the_cards_cannot() -> None:
    assert fabric(replace(G5, aws_ofi_nccl="1.5.0")) == {"FI_EFA_USE_HUGE_PAGE": "0"}


def test_memory_registration_is_mended_for_an_old_installer_with_a_new_nccl() -> None:
    old = replace(NEW_PLUGIN, efa_installer="1.29.0", nccl="2.19.4")
    assert fabric(old)["FI_EFA_SET_CUDA_SYNC_MEMOPS"] == "0"
    assert "FI_EFA_SET_CUDA_SYNC_MEMOPS" not in fabric(replace(old, efa_installer="1.29.1"))
    assert "FI_EFA_SET_CUDA_SYNC_MEMOPS" not in fabric(replace(old, nccl="2.18.6"))


@pytest.mark.parametrize("name", ["g5.xlarge", "g4dn.xlarge", "p3.16xlarge"])
def test_nothing_is_said_of_efa_where_there_is_none(name: str) -> None:
    assert fabric(replace(P4D, instance_type=name, aws_ofi_nccl="1.5.0")) == {}


def test_trainium_gets_its_own_set() -> None:
    found = values(TRN1)
    wanted = {
        "CCOM_SOCKET_IFNAME": "eth0",
        "FI_PROVIDER": "efa",
        "FI_EFA_USE_DEVICE_RDMA": "1",
        "FI_EFA_FORK_SAFE": "1",
        "NEURON_RT_RESET_CORES": "1",
        "XLA_TRANSFER_SEED_ASYNC": "1",
    }
    assert wanted.items() <= found.items()
    assert not [name for name in found if "NCCL" in name]


# Interfaces


def test_loopback_nodes_meet_over_loopback() -> None:
    found = values(SANDBOX)
    assert (found["GLOO_SOCKET_IFNAME"], found["TP_SOCKET_IFNAME"]) == ("lo", "lo")


def test_nccl_may_use_loopback_where_there_is_nothing_else() -> None:
    assert values(replace(SANDBOX, device="cuda"))["NCCL_SOCKET_IFNAME"] == "=lo"


def test_a_known_interface_is_given_to_all_by_name() -> None:
    found = values(P4D)
    assert (found["GLOO_SOCKET_IFNAME"], found["NCCL_SOCKET_IFNAME"]) == ("ens32", "=ens32")


def test_an_unknown_interface_is_left_to_gloo_and_narrowed_for_nccl() -> None:
    found = values(replace(P4D, interface=""))
    assert "GLOO_SOCKET_IFNAME" not in found
    assert [
        admits(found["NCCL_SOCKET_IFNAME"], name)
        for name in ("eth0", "ens5", "lo", "docker0", "pod-id-link0")
    ] == [
        True,
        True,
        False,
        False,
        False,
    ]


@pytest.mark.parametrize(
    ("pattern", "interface", "admitted"),
    [
        ("eth", "eth1", True),
        ("=eth", "eth1", False),
        ("=eth0,eth1", "eth1", True),
        ("^docker", "eth0", True),
        ("^docker,lo", "lo", False),
        ("^=docker0", "docker01", True),
        ("^=docker0", "docker0", False),
    ],
)
def test_the_notation_of_nccl_for_interfaces_is_understood(
    pattern: str, interface: str, admitted: bool
) -> None:
    assert admits(pattern, interface) is admitted


# Threads


@pytest.mark.parametrize(
    ("device", "cores", "processes", "threads"),
    [
        ("cpu", 2, 1, "1"),
        ("cpu", 2, 2, "1"),
        ("cpu", 8, 4, "1"),
        ("cpu", 9, 4, "2"),
        ("cuda", 96, 8, "12"),
        ("cuda", 4, 8, "1"),
    ],
)
def test_threads_share_the_cores(device: str, cores: int, processes: int, threads: str) -> None:
    assert (
        values(MachineFacts(device=device, cores=cores, processes_per_node=processes))[
            "OMP_NUM_THREADS"
        ]
        == threads
    )


def test_loopback_nodes_share_one_machines_cores() -> None:
    machines = replace(SANDBOX, cores=16)
    assert values(machines)["OMP_NUM_THREADS"] == "16"
    assert values(replace(machines, nodes=4))["OMP_NUM_THREADS"] == "4"
    assert values(replace(machines, nodes=8))["OMP_NUM_THREADS"] == "1"


def test_as_many_loopback_nodes_share_the_cores_as_a_launch_asks_for(tmp_path: Path) -> None:
    inventory = tmp_path / "inventory.yaml"
    hosts = {f"node{number}": {"ansible_host": f"127.0.0.{number}"} for number in (2, 3)}
    inventory.write_text(yaml.safe_dump({"all": {"hosts": hosts}}))
    options, request = Options(inventory=(str(inventory),)), Request("gpt2-micro-smoke", nodes=2)
    with open_fleet(options) as fleet:
        job = plan(request, read_profile(request.profile), fleet, options)
        variables = environment_of(job, fleet, {job.master.host: {"cores": 16}})
    assert {each.name: each.value for each in variables}["OMP_NUM_THREADS"] == "8"


# Device and strategy


def test_nothing_of_nccl_is_set_on_a_cpu() -> None:
    assert not [
        name for name in values(SANDBOX) if "NCCL" in name or name.startswith(("FI_", "PYTORCH_"))
    ]


def test_a_gpu_run_can_tell_who_hung() -> None:
    found = values(replace(P4D, dumps="/data/run/"))
    assert found["TORCH_NCCL_ASYNC_ERROR_HANDLING"] == "1"
    assert found["TORCH_FR_BUFFER_SIZE"] == "20000"
    assert found["TORCH_NCCL_DUMP_ON_TIMEOUT"] == "1"
    assert found["TORCH_NCCL_DEBUG_INFO_TEMP_FILE"] == "/data/run/nccl_trace_rank_"
    assert "TORCH_NCCL_DEBUG_INFO_TEMP_FILE" not in values(P4D)


def test_the_log_names_the_provider_where_there_are_cards() -> None:
    assert values(P4D)["NCCL_DEBUG"] == "INFO"
    assert values(replace(P4D, efa_count=0))["NCCL_DEBUG"] == "WARN"


def test_sharded_training_gets_segments_that_grow() -> None:
    assert (
        values(P4D, train={"strategy": {"name": "fsdp"}})["PYTORCH_CUDA_ALLOC_CONF"]
        == "expandable_segments:True"
    )
    assert "PYTORCH_CUDA_ALLOC_CONF" not in values(P4D, train={"strategy": {"name": "ddp"}})


def test_gpus_without_nvlink_copy_through_the_copy_engines() -> None:
    assert values(G5)["NCCL_SHM_USE_CUDA_MEMCPY"] == "1"
    assert "NCCL_SHM_USE_CUDA_MEMCPY" not in values(replace(G5, instance_type="g5.xlarge"))
    assert "NCCL_SHM_USE_CUDA_MEMCPY" not in values(P4D)


def test_deepspeed_on_a_cpu_is_told_so() -> None:
    assert values(replace(SANDBOX, launcher="deepspeed"))["DS_ACCELERATOR"] == "cpu"
    assert values(SANDBOX, train={"strategy": {"name": "deepspeed"}})["DS_ACCELERATOR"] == "cpu"
    assert "DS_ACCELERATOR" not in values(SANDBOX)
    assert "DS_ACCELERATOR" not in values(replace(P4D, launcher="deepspeed"))


@pytest.mark.parametrize("machines", [SANDBOX, P4D, TRN1])
def test_every_launcher_gives_the_same_variables(machines: MachineFacts) -> None:
    profile = {"train": {"strategy": {"name": "deepspeed"}}}
    launchers = [
        values(replace(machines, launcher=each), **profile)
        for each in ("direct", "torchrun", "deepspeed")
    ]
    assert launchers[0] == launchers[1] == launchers[2]


@pytest.mark.parametrize(
    "machines",
    [SANDBOX, P4D, NEW_PLUGIN, OLD_PLUGIN, G5, TRN1, MachineFacts(), MachineFacts(device="cuda")],
)
def test_its_own_decisions_never_quarrel(machines: MachineFacts) -> None:
    profile = {"launch": {"nodes": 2}, "train": {"strategy": {"name": "fsdp"}}}
    assert conflicting_settings(compile_environment(profile, machines, {}), machines) == []
