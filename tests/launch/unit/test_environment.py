"""The environment compiler: what it decides for each site, who overrules it, and what it
refuses."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from playrunner.errors import BadInput
from playrunner.training.environment.compiler import as_json, compile_environment, show_environment
from playrunner.training.environment.conflicts import conflicting_settings
from playrunner.training.environment.machine_facts import MachineFacts, instance, version
from playrunner.training.environment.rule import admits
from playrunner.training.environment.variable import Variable

P4D = MachineFacts(
    device="cuda",
    launcher="torchrun",
    instance_type="p4d.24xlarge",
    interface="ens32",
    cores=96,
    processes_per_node=8,
)
NEW_PLUGIN = replace(P4D, libfabric="1.20.0amzn1.0", aws_ofi_nccl="v1.8.1-aws", nccl="2.20.3")
OLD_PLUGIN = replace(P4D, aws_ofi_nccl="1.5.0")
G5 = replace(P4D, instance_type="g5.12xlarge", processes_per_node=4)
TRN1 = MachineFacts(
    device="neuron",
    instance_type="trn1.32xlarge",
    interface="eth0",
    cores=128,
    processes_per_node=32,
)
SANDBOX = MachineFacts(loopback=True, cores=2)


def compiled(
    machines: MachineFacts, given: dict[str, str] | None = None, **profile: Any
) -> dict[str, Variable]:
    return {each.name: each for each in compile_environment(profile, machines, given or {})}


def values(
    machines: MachineFacts, given: dict[str, str] | None = None, **profile: Any
) -> dict[str, str]:
    return {name: each.value for name, each in compiled(machines, given, **profile).items()}


def fabric(machines: MachineFacts) -> dict[str, str]:
    return {
        name: value
        for name, value in values(machines).items()
        if name.startswith(("FI_", "NCCL_PROTO"))
    }


def refused(machines: MachineFacts, **given: str) -> list[str]:
    return conflicting_settings(compile_environment({}, machines, given), machines)


# The instance table


@pytest.mark.parametrize(
    ("name", "accelerators", "efa"),
    [
        ("g4dn.xlarge", 1, 0),
        ("g4dn.8xlarge", 1, 1),
        ("g4dn.12xlarge", 4, 1),
        ("g5.xlarge", 1, 0),
        ("g5.8xlarge", 1, 1),
        ("g5.12xlarge", 4, 1),
        ("g5.48xlarge", 8, 1),
        ("p3dn.24xlarge", 8, 1),
        ("p4d.24xlarge", 8, 4),
        ("p4de.24xlarge", 8, 4),
        ("p5.48xlarge", 8, 32),
        ("p5en.48xlarge", 8, 16),
        ("trn1.32xlarge", 16, 8),
        ("trn1n.32xlarge", 16, 16),
        ("trn2.48xlarge", 16, 16),
    ],
)
def test_the_table_knows_accelerators_and_cards(name: str, accelerators: int, efa: int) -> None:
    found = instance(name)
    assert found is not None
    assert (found.accelerators, found.efa) == (accelerators, efa)


def test_an_instance_that_is_not_in_the_table_is_unknown_not_without_cards() -> None:
    assert instance("x9.huge") is None
    assert MachineFacts(instance_type="x9.huge").efa is None
    assert MachineFacts(instance_type="x9.huge", efa_count=2).efa == 2


def test_the_inventory_knows_better_than_the_table_how_many_cards_there_are() -> None:
    assert replace(P4D, efa_count=0).efa == 0
    assert fabric(replace(P4D, efa_count=0)) == {}


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("v1.7.3-aws", (1, 7, 3)),
        ("1.20.0amzn1.0", (1, 20, 0)),
        ("2.20.3-1+cuda12.4", (2, 20, 3)),
        ("", None),
    ],
)
def test_versions_are_read_in_every_spelling(text: str, numbers: tuple[int, ...] | None) -> None:
    assert version(text) == numbers


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
    assert values(machines, launch={"nodes": 1})["OMP_NUM_THREADS"] == "16"
    assert values(machines, launch={"nodes": 4})["OMP_NUM_THREADS"] == "4"
    assert values(machines, launch={"nodes": 8})["OMP_NUM_THREADS"] == "1"


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


def test_sharded_training_gets_segments_that_grow_unless_graphs_are_captured() -> None:
    assert (
        values(P4D, train={"strategy": {"name": "fsdp"}})["PYTORCH_CUDA_ALLOC_CONF"]
        == "expandable_segments:True"
    )
    assert "PYTORCH_CUDA_ALLOC_CONF" not in values(
        P4D, train={"strategy": {"name": "fsdp"}, "fast": {"cuda_graphs": True}}
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


def test_every_variable_says_why_and_from_where() -> None:
    for machines in (SANDBOX, OLD_PLUGIN, TRN1):
        assert all(each.reason and each.origin for each in compile_environment({}, machines, {}))


# Who overrules whom


def test_the_profile_beats_the_default_and_the_inventory_beats_the_profile() -> None:
    profile = {"launch": {"environment": {"NCCL_DEBUG": "WARN", "OMP_NUM_THREADS": "3"}}}
    origins = {"NCCL_DEBUG": "inventory group_vars/gpu.yaml:12"}
    found = {
        each.name: each
        for each in compile_environment(
            profile, P4D, {"NCCL_DEBUG": "TRACE"}, origins.__getitem__, profile_name="llama2-7b"
        )
    }
    threads, debug = found["OMP_NUM_THREADS"], found["NCCL_DEBUG"]
    assert (threads.value, threads.origin) == ("3", "profile llama2-7b: launch.environment")
    assert threads.reason == "asked for; beats '12' from cores and processes"
    assert (debug.value, debug.origin) == ("TRACE", "inventory group_vars/gpu.yaml:12")
    assert "beats 'WARN' from profile llama2-7b: launch.environment" in debug.reason
    assert [each.value for each in debug.beaten] == ["WARN", "INFO"]


def test_asking_for_the_same_value_beats_nobody() -> None:
    found = compiled(P4D, {"PYTHONUNBUFFERED": "1"})["PYTHONUNBUFFERED"]
    assert found.reason == "asked for; as default has it"
    assert found.origin == "inventory: train_environment"


def test_a_setting_is_overruled_under_its_other_name_too() -> None:
    found = compiled(P4D, {"NCCL_ASYNC_ERROR_HANDLING": "0"})
    assert "TORCH_NCCL_ASYNC_ERROR_HANDLING" not in found
    assert "beats TORCH_NCCL_ASYNC_ERROR_HANDLING='1'" in found["NCCL_ASYNC_ERROR_HANDLING"].reason
    assert conflicting_settings(found.values(), P4D) == []


def test_variables_come_sorted_by_name() -> None:
    names = [each.name for each in compile_environment({}, P4D, {"AAA": "1", "ZZZ": "2"})]
    assert names == sorted(names)
    assert (names[0], names[-1]) == ("AAA", "ZZZ")


def test_numbers_become_text() -> None:
    assert compiled(SANDBOX, {"OMP_NUM_THREADS": 1})["OMP_NUM_THREADS"].value == "1"  # type: ignore[dict-item]


@pytest.mark.parametrize("name", ["export A", "A=1", "", "1A"])
def test_a_name_no_program_could_read_is_refused_with_its_place(name: str) -> None:
    with pytest.raises(BadInput, match=r"^hosts.yaml:4: .*cannot be a variable's name"):
        compile_environment({}, SANDBOX, {name: "1"}, lambda _: "hosts.yaml:4")


@pytest.mark.parametrize("value", [True, None, ["a"], "two\nlines"])
def test_a_value_that_is_not_one_line_of_text_is_refused(value: Any) -> None:
    with pytest.raises(BadInput, match="train_environment: HF_HOME"):
        compile_environment({}, SANDBOX, {"HF_HOME": value})


# Secrets


@pytest.mark.parametrize(
    "name",
    [
        "HF_TOKEN",
        "WANDB_API_KEY",
        "AWS_SECRET_ACCESS_KEY",
        "MY_PASSWORD",
        "hf_token",
        "WANDB_APIKEY",
        "AWS_ACCESS_KEY_ID",
    ],
)
def test_a_secret_is_never_shown(name: str) -> None:
    found = compile_environment(
        {"launch": {"environment": {name: "hunter1"}}}, SANDBOX, {name: "hunter2"}
    )
    (variable,) = [each for each in found if each.name == name]
    assert variable.secret
    assert variable.value == "hunter2"
    shown = [
        show_environment(found),
        show_environment(found, name),
        repr(found),
        str(as_json(found)),
        variable.reason,
    ]
    assert not [text for text in shown if "hunter" in text]
    assert "(hidden)" in shown[0]


@pytest.mark.parametrize(
    "name", ["TOKENIZERS_PARALLELISM", "PYTHONUNBUFFERED", "KEYBOARD", "NCCL_DEBUG"]
)
def test_other_variables_are_no_secrets(name: str) -> None:
    assert not Variable(name, "1", "", "").secret


def test_a_password_inside_an_address_is_a_secret() -> None:
    assert Variable("HTTPS_PROXY", "http://me:pw@proxy:3128", "", "").secret
    assert not Variable("HTTPS_PROXY", "http://proxy:3128", "", "").secret


# Showing


def test_the_table_has_a_line_per_variable() -> None:
    found = compile_environment({}, P4D, {})
    lines = show_environment(found).splitlines()
    assert len(lines) == len(found) + 1
    assert any(
        line.split()[:2] == ["OMP_NUM_THREADS", "12"] and "96 cores shared by 8" in line
        for line in lines
    )


def test_why_tells_everything_about_one_variable() -> None:
    found = compile_environment({}, P4D, {"OMP_NUM_THREADS": "2"})
    assert show_environment(found, "OMP_NUM_THREADS").splitlines() == [
        "OMP_NUM_THREADS=2",
        "  why   asked for; beats '12' from cores and processes",
        "  from  inventory: train_environment",
        "  else  '12' from cores and processes: 96 cores shared by 8 processes",
    ]


@pytest.mark.parametrize("name", ["OMP_NUM_THREAD", "omp_num_threads"])
def test_why_of_an_unknown_name_offers_the_nearest(name: str) -> None:
    with pytest.raises(BadInput, match='did you mean "OMP_NUM_THREADS"'):
        show_environment(compile_environment({}, SANDBOX, {}), name)


def test_json_carries_the_same_facts() -> None:
    (found,) = [
        each
        for each in as_json(compile_environment({}, P4D, {"OMP_NUM_THREADS": "2"}))
        if each["name"] == "OMP_NUM_THREADS"
    ]
    assert (found["value"], found["origin"], found["secret"]) == (
        "2",
        "inventory: train_environment",
        False,
    )
    assert found["beaten"][0]["value"] == "12"


# What is refused, and what looks like it but is fine


@pytest.mark.parametrize(
    "name",
    [
        "RANK",
        "WORLD_SIZE",
        "LOCAL_RANK",
        "MASTER_ADDR",
        "MASTER_PORT",
        "TORCHELASTIC_RUN_ID",
        "PET_NNODES",
    ],
)
def test_a_process_is_told_its_place_by_the_launcher_alone(name: str) -> None:
    (sentence,) = refused(SANDBOX, **{name: "1"})
    assert sentence.startswith(f"{name}=1 (inventory: train_environment) is set by the launcher")
    assert "Remove it" in sentence


REFUSED: list[tuple[str, MachineFacts, dict[str, str], str]] = [
    ("rdma-core settings", P4D, {"RDMAV_FORK_SAFE": "1"}, "FI_EFA_FORK_SAFE=1"),
    ("staged code hidden", SANDBOX, {"PYTHONPATH": "/opt/lib"}, "staged trainer code"),
    (
        "efa without a card",
        replace(P4D, instance_type="g5.xlarge"),
        {"FI_PROVIDER": "efa"},
        "g5.xlarge has no EFA card",
    ),
    ("rdma the cards cannot do", G5, {"FI_EFA_USE_DEVICE_RDMA": "1"}, "aborts every process"),
    (
        "rdma the plugin decides",
        NEW_PLUGIN,
        {"FI_EFA_USE_DEVICE_RDMA": "1"},
        "overrules aws-ofi-nccl v1.8.1-aws",
    ),
    ("a protocol for old plugins", NEW_PLUGIN, {"NCCL_PROTO": "Simple"}, "up to aws-ofi-nccl 1.5"),
    ("efa and sockets", P4D, {"FI_PROVIDER": "efa", "NCCL_NET": "Socket"}, "plain sockets"),
    ("efa and no plugin", P4D, {"FI_PROVIDER": "efa", "NCCL_NET_PLUGIN": "none"}, "plain sockets"),
    ("nccl's notation for gloo", P4D, {"GLOO_SOCKET_IFNAME": "^lo,docker"}, "Write the name alone"),
    ("gloo on an excluded interface", P4D, {"NCCL_SOCKET_IFNAME": "^ens"}, "leaves out ens32"),
    (
        "no loopback on loopback",
        replace(SANDBOX, device="cuda"),
        {"NCCL_SOCKET_IFNAME": "^lo"},
        "leaves out lo",
    ),
    (
        "another name on loopback",
        replace(SANDBOX, device="cuda"),
        {"NCCL_SOCKET_IFNAME": "eth0"},
        "leaves out loopback",
    ),
    (
        "two ways to wait",
        P4D,
        {"TORCH_NCCL_BLOCKING_WAIT": "1"},
        "or set TORCH_NCCL_ASYNC_ERROR_HANDLING=0",
    ),
    (
        "two ways, old names",
        P4D,
        {"NCCL_ASYNC_ERROR_HANDLING": "1", "TORCH_NCCL_BLOCKING_WAIT": "1"},
        "two ways",
    ),
    (
        "two names",
        P4D,
        {"PYTORCH_ALLOC_CONF": "a:1", "PYTORCH_CUDA_ALLOC_CONF": "b:2"},
        "two names of one setting",
    ),
    ("a dump of nothing", P4D, {"TORCH_NCCL_TRACE_BUFFER_SIZE": "0"}, "nothing to dump"),
    (
        "blocking launches, old nccl",
        replace(P4D, nccl="2.16.2"),
        {"CUDA_LAUNCH_BLOCKING": "1"},
        "collectives between nodes hang",
    ),
    ("no p2p over nvlink", P4D, {"NCCL_P2P_DISABLE": "1"}, "instead of NVLink"),
    (
        "registered segments that grow",
        P4D,
        {
            "TORCH_NCCL_USE_TENSOR_REGISTER_ALLOCATOR_HOOK": "1",
            "PYTORCH_ALLOC_CONF": "expandable_segments:True",
        },
        "cannot be registered",
    ),
    ("too many threads", P4D, {"OMP_NUM_THREADS": "96"}, "Set it to 12 or less"),
    ("no count of threads", P4D, {"OMP_NUM_THREADS": "auto"}, "no count of threads"),
    (
        "fewer devices than processes",
        P4D,
        {"CUDA_VISIBLE_DEVICES": "0,1"},
        "shows 2 GPUs to 8 processes",
    ),
    (
        "devices by deepspeed",
        replace(P4D, launcher="deepspeed"),
        {"CUDA_VISIBLE_DEVICES": "0,1"},
        "from the hostfile",
    ),
    ("a gpu deepspeed cannot find", SANDBOX, {"DS_ACCELERATOR": "cuda"}, "device is cpu"),
]


@pytest.mark.parametrize(
    ("machines", "given", "part"), [row[1:] for row in REFUSED], ids=[row[0] for row in REFUSED]
)
def test_known_trouble_is_refused_once_with_its_remedy(
    machines: MachineFacts, given: dict[str, str], part: str
) -> None:
    (sentence,) = refused(machines, **given)
    assert part in sentence
    assert any(
        f"{name}={value} (inventory: train_environment)" in sentence
        for name, value in given.items()
    )


FINE: list[tuple[str, MachineFacts, dict[str, str]]] = [
    ("efa where it is", P4D, {"FI_PROVIDER": "efa"}),
    (
        "efa where nothing is known",
        replace(P4D, instance_type=""),
        {"FI_PROVIDER": "efa", "FI_EFA_USE_DEVICE_RDMA": "1"},
    ),
    ("rdma turned off", G5, {"FI_EFA_USE_DEVICE_RDMA": "0"}),
    (
        "rdma asked of an old plugin",
        replace(P4D, aws_ofi_nccl="1.6.0"),
        {"FI_EFA_USE_DEVICE_RDMA": "1"},
    ),
    ("the simple protocol off efa", replace(NEW_PLUGIN, efa_count=0), {"NCCL_PROTO": "simple"}),
    ("two networks on purpose", P4D, {"NCCL_SOCKET_IFNAME": "=ib0"}),
    (
        "waiting one way",
        P4D,
        {"TORCH_NCCL_BLOCKING_WAIT": "1", "TORCH_NCCL_ASYNC_ERROR_HANDLING": "0"},
    ),
    (
        "no history and no dump",
        P4D,
        {"TORCH_NCCL_TRACE_BUFFER_SIZE": "0", "TORCH_NCCL_DUMP_ON_TIMEOUT": "0"},
    ),
    ("blocking launches, new nccl", NEW_PLUGIN, {"CUDA_LAUNCH_BLOCKING": "1"}),
    ("no p2p over pcie", G5, {"NCCL_P2P_DISABLE": "1"}),
    ("a few threads too many", P4D, {"OMP_NUM_THREADS": "16"}),
    ("threads on cores nobody counted", MachineFacts(), {"OMP_NUM_THREADS": "8"}),
    ("all devices by name", P4D, {"CUDA_VISIBLE_DEVICES": "0,1,2,3,4,5,6,7"}),
    (
        "the guide's trainium set",
        TRN1,
        {"FI_PROVIDER": "efa", "FI_EFA_USE_DEVICE_RDMA": "1", "FI_EFA_FORK_SAFE": "1"},
    ),
    ("a gpu setting on a cpu", SANDBOX, {"NCCL_P2P_DISABLE": "1", "FI_PROVIDER": "efa"}),
]


@pytest.mark.parametrize(
    ("machines", "given"), [row[1:] for row in FINE], ids=[row[0] for row in FINE]
)
def test_what_only_looks_like_trouble_is_let_through(
    machines: MachineFacts, given: dict[str, str]
) -> None:
    assert refused(machines, **given) == []


def test_every_bundled_profile_may_be_launched_in_the_sandbox() -> None:
    from dataclasses import asdict

    from trainer.profile import BUNDLED, read_profile

    names = sorted(file.stem for file in BUNDLED.glob("*.yaml"))
    assert "gpt2-micro-smoke" in names
    for name in names:
        found = compile_environment(asdict(read_profile(name)), SANDBOX, {}, profile_name=name)
        assert conflicting_settings(found, SANDBOX) == [], name


def test_the_trainium_profile_agrees_with_what_trainium_gets() -> None:
    from dataclasses import asdict

    from trainer.profile import read_profile

    found = compile_environment(
        asdict(read_profile("bert-large")), TRN1, {}, profile_name="bert-large"
    )
    asked = [each for each in found if each.origin.startswith("profile")]
    assert asked
    assert all(each.beaten and each.beaten[0].value == each.value for each in asked)
