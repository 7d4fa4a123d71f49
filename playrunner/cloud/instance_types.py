"""Accelerators and network cards of the instance types of clouds."""

from __future__ import annotations

from playrunner.frozen import frozen

# What Kubernetes calls them.
GPU, NEURON, EFA, HUGE_PAGES = (
    "nvidia.com/gpu",
    "aws.amazon.com/neuron",
    "vpc.amazonaws.com/efa",
    "hugepages-2Mi",
)


@frozen
class Instance:
    """A machine a cloud rents out, as far as the environment depends on it."""

    accelerators: int  # GPUs, or Neuron devices
    efa: int  # the most EFA cards it can have
    rdma_read: bool  # whether those cards can read the other side's memory
    nvlink: bool  # whether its GPUs are joined by more than PCIe
    device: str = ""  # what Kubernetes calls its accelerators; empty when it has none
    huge_pages_mib: int = 0  # memory in large pages that its EFA cards are used with


def instance(name: str) -> Instance | None:
    """The instance of that type, or None for one that is not in the table."""
    if name not in _COUNTS:
        return None
    accelerators, efa = _COUNTS[name]
    family = _family(name)
    rdma_read, nvlink = _FAMILIES[family]
    device = (NEURON if family.startswith(("trn", "inf")) else GPU) if accelerators else ""
    return Instance(
        accelerators,
        efa,
        rdma_read and efa > 0,
        nvlink and accelerators > 1,
        device,
        _HUGE_PAGES_MIB.get(family, 0),
    )


def _family(name: str) -> str:
    """p4d of p4d.24xlarge, a2-highgpu of a2-highgpu-8g."""
    return name.partition(".")[0] if "." in name else name.rpartition("-")[0]


# (RDMA read, NVLink). The first EFA cards, up to the fifth generation of G, cannot read; P4d's were
# the first that can.
_FAMILIES = {
    "g4dn": (False, False),
    "g5": (False, False),
    "g6": (True, False),
    "g6e": (True, False),
    "p3": (False, True),
    "p3dn": (False, True),
    "p4d": (True, True),
    "p4de": (True, True),
    "p5": (True, True),
    "p5e": (True, True),
    "p5en": (True, True),
    "p6-b200": (True, True),
    "p6-b300": (True, True),
    "p6e-gb200": (True, True),
    "trn1": (True, False),
    "trn1n": (True, False),
    "trn2": (True, False),
    "trn2u": (True, False),
    "m5": (False, False),
    "a2-highgpu": (False, True),
    "a2-megagpu": (False, True),
    "a3-highgpu": (False, True),
    "a3-megagpu": (False, True),
    "a3-ultragpu": (False, True),
}

_HUGE_PAGES_MIB = {"p5": 5120, "p5e": 5120, "p5en": 5120}

# (accelerators, EFA cards) of each type.
_COUNTS = {
    **{f"g4dn.{size}": (1, 0) for size in ("xlarge", "2xlarge", "4xlarge")},
    **{f"g4dn.{size}": (1, 1) for size in ("8xlarge", "16xlarge")},
    "g4dn.12xlarge": (4, 1),
    "g4dn.metal": (8, 1),
    **{
        f"{family}.{size}": (1, 0)
        for family in ("g5", "g6", "g6e")
        for size in ("xlarge", "2xlarge", "4xlarge")
    },
    **{
        f"{family}.{size}": (1, 1)
        for family in ("g5", "g6", "g6e")
        for size in ("8xlarge", "16xlarge")
    },
    **{f"{family}.{size}": (4, 1) for family in ("g5", "g6") for size in ("12xlarge", "24xlarge")},
    **{f"{family}.48xlarge": (8, 1) for family in ("g5", "g6")},
    "g6e.12xlarge": (4, 1),
    "g6e.24xlarge": (4, 2),
    "g6e.48xlarge": (8, 4),
    "p3.2xlarge": (1, 0),
    "p3.8xlarge": (4, 0),
    "p3.16xlarge": (8, 0),
    "p3dn.24xlarge": (8, 1),
    "p4d.24xlarge": (8, 4),
    "p4de.24xlarge": (8, 4),
    "p5.48xlarge": (8, 32),
    "p5e.48xlarge": (8, 32),
    "p5en.48xlarge": (8, 16),
    "p6-b200.48xlarge": (8, 8),
    # Of its 17 network cards the first is without EFA
    "p6-b300.48xlarge": (8, 16),
    # Every second of its network cards after the first
    "p6e-gb200.36xlarge": (4, 8),
    "trn1.2xlarge": (1, 0),
    "trn1.32xlarge": (16, 8),
    "trn1n.32xlarge": (16, 16),
    "trn2.48xlarge": (16, 16),
    "trn2u.48xlarge": (16, 16),
    "m5.large": (0, 0),
    **{f"a2-highgpu-{count}g": (count, 0) for count in (1, 2, 4, 8)},
    "a2-megagpu-16g": (16, 0),
    **{f"a3-highgpu-{count}g": (count, 0) for count in (1, 2, 4, 8)},
    "a3-megagpu-8g": (8, 0),
    "a3-ultragpu-8g": (8, 0),
}
