"""Where a run's processes live: the kind of machine, its accelerators and network cards, the versions on it."""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True)
class Site:
    """What is known of the nodes; what is not known is left at its default, and nothing is decided from it."""

    device: str = "cpu"  # cpu | cuda | neuron
    launcher: str = "direct"
    instance_type: str = ""  # as p4d.24xlarge
    interface: str = ""  # the network interface the nodes reach each other by
    efa_count: int | None = None  # EFA cards per node; None: from the instance table
    libfabric: str = ""
    aws_ofi_nccl: str = ""  # the plugin through which NCCL uses EFA
    nccl: str = ""
    efa_installer: str = ""
    cores: int = 1  # per node; 1 is taken for not known
    processes_per_node: int = 1
    loopback: bool = False  # all nodes are on this machine's loopback addresses
    dumps: str = ""  # a folder on the node for what NCCL's flight recorder leaves behind

    @property
    def instance(self) -> Instance | None:
        return instance(self.instance_type)

    @property
    def efa(self) -> int | None:
        """EFA cards per node; None when neither the inventory nor the table says."""
        if self.efa_count is not None:
            return self.efa_count
        return self.instance.efa if self.instance else None


@dataclass(frozen=True)
class Instance:
    """A machine a cloud rents out, as far as the environment depends on it."""

    accelerators: int  # GPUs, or Neuron devices
    efa: int  # the most EFA cards it can have
    rdma_read: bool  # whether those cards can read the other side's memory
    nvlink: bool  # whether its GPUs are joined by more than PCIe


def instance(name: str) -> Instance | None:
    """The instance of that type, or None for one that is not in the table."""
    if name not in _COUNTS:
        return None
    accelerators, efa = _COUNTS[name]
    rdma_read, nvlink = _FAMILIES[name.partition(".")[0]]
    return Instance(accelerators, efa, rdma_read and efa > 0, nvlink and accelerators > 1)


def version(text: str) -> tuple[int, ...] | None:
    """(1, 7, 3) of `v1.7.3-aws` or `1.7.3amzn2.0`; None when there is no number in it."""
    found = re.search(r"\d+(?:\.\d+)*", text)
    return tuple(int(part) for part in found.group().split(".")) if found else None


def older(text: str, *than: int) -> bool | None:
    """Whether a version comes before another, as older("1.6.0", 1, 7); None when it is not known."""
    found = version(text)
    return None if found is None else found < than


# (RDMA read, NVLink). The first EFA cards, up to the fifth generation of G, cannot read; P4d's were the first that can.
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
    "trn1": (True, False),
    "trn1n": (True, False),
    "trn2": (True, False),
    "m5": (False, False),
}

# (accelerators, EFA cards) of each type.
_COUNTS = {
    **{f"g4dn.{size}": (1, 0) for size in ("xlarge", "2xlarge", "4xlarge")},
    **{f"g4dn.{size}": (1, 1) for size in ("8xlarge", "16xlarge")},
    "g4dn.12xlarge": (4, 1),
    "g4dn.metal": (8, 1),
    **{f"{family}.{size}": (1, 0) for family in ("g5", "g6", "g6e") for size in ("xlarge", "2xlarge", "4xlarge")},
    **{f"{family}.{size}": (1, 1) for family in ("g5", "g6", "g6e") for size in ("8xlarge", "16xlarge")},
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
    "trn1.2xlarge": (1, 0),
    "trn1.32xlarge": (16, 8),
    "trn1n.32xlarge": (16, 16),
    "trn2.48xlarge": (16, 16),
    "m5.large": (0, 0),
}
