"""The table of instance types: devices, EFA cards, memory."""

from __future__ import annotations

import pytest

from playrunner.cloud.instance_memory import instance_memory
from playrunner.cloud.instance_types import GPU, NEURON, instance


@pytest.mark.parametrize(
    ("name", "device", "count", "efa", "chip", "processes"),
    [
        ("a3-highgpu-8g", GPU, 8, 0, "H100", 8),
        ("a3-megagpu-8g", GPU, 8, 0, "H100", 8),
        ("a3-ultragpu-8g", GPU, 8, 0, "H200", 8),
        ("p6-b300.48xlarge", GPU, 8, 16, "B300", 8),
        ("p6e-gb200.36xlarge", GPU, 4, 8, "GB200", 4),
        ("trn2u.48xlarge", NEURON, 16, 16, "Trainium2", 64),
    ],
)
def test_the_newest_machines_are_known_with_their_devices_cards_and_memory(
    name: str, device: str, count: int, efa: int, chip: str, processes: int
) -> None:
    machine, memory = instance(name), instance_memory(name)
    assert machine and memory
    assert (machine.device, machine.accelerators, machine.efa) == (device, count, efa)
    assert (memory.chip, memory.processes) == (chip, processes)
    assert memory.device_gib > 0 and memory.host_gib > memory.cores
