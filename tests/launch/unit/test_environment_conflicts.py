"""Settings that are known to fail together are refused before a run starts."""

from __future__ import annotations

from dataclasses import replace

import pytest

from playrunner.training.environment.compiler import compile_environment
from playrunner.training.environment.conflicts import conflicting_settings
from playrunner.training.environment.machine_facts import MachineFacts
from tests.support.launch.environment import G5, NEW_PLUGIN, P4D, SANDBOX, TRN1, refused

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
    (
        "one thread each, however many processes",
        replace(SANDBOX, cores=2, processes_per_node=8),
        {"OMP_NUM_THREADS": "1"},
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
