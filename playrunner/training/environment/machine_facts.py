"""Where a run's processes live: the kind of machine, its accelerators and network cards, the
versions on it."""

from __future__ import annotations

import re

from playrunner.cloud.instance_types import Instance, instance
from playrunner.frozen import frozen

__all__ = ["Instance", "MachineFacts", "instance", "older", "version"]


@frozen
class MachineFacts:
    """What is known of the nodes; what is not known is left at its default, and nothing is decided
    from it."""

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
    nodes: int = 1
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


def version(text: str) -> tuple[int, ...] | None:
    """(1, 7, 3) of `v1.7.3-aws` or `1.7.3amzn2.0`; None when there is no number in it."""
    found = re.search(r"\d+(?:\.\d+)*", text)
    return tuple(int(part) for part in found.group().split(".")) if found else None


def older(text: str, *than: int) -> bool | None:
    """Whether a version comes before another, as older("1.6.0", 1, 7); None when it is not
    known."""
    found = version(text)
    return None if found is None else found < than
