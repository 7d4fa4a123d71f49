"""Memory, cores and number formats of the instance types of clouds."""

from __future__ import annotations

from playrunner.cloud.instance_types import instance
from playrunner.frozen import frozen

_NEURON_CORES = {"trn1": 2, "trn1n": 2, "trn2": 4, "trn2u": 4}  # that train, of one device


@frozen
class InstanceMemory:
    """A machine type's memory; what one training process has is `device_gib`."""

    cores: int
    host_gib: float
    processes: int  # one per GPU or Neuron core; 0 where there are none
    chip: str = ""  # as A100; empty for CPUs
    device_gib: float = 0.0  # of one GPU, or one Neuron core
    bf16: bool = True  # whether the chip computes in it; older ones only emulate it


def instance_memory(name: str) -> InstanceMemory | None:
    """Of a machine type, or None for one that is not in the table."""
    table, size = instance(name), _HOSTS.get(name)
    if table is None or size is None:
        return None
    cores, host_gib = size
    family = name.partition(".")[0] if "." in name else name.rpartition("-")[0]
    if family not in _CHIPS:
        return InstanceMemory(cores, host_gib, 0)
    chip, gib, bf16 = _CHIPS[family]
    parts = _NEURON_CORES.get(family, 1)
    return InstanceMemory(cores, host_gib, table.accelerators * parts, chip, gib / parts, bf16)


# (chip, GiB of one device, whether it computes in bf16)
_CHIPS = {
    "g4dn": ("T4", 15.0, False),
    "g5": ("A10G", 22.4, True),
    "g6": ("L4", 22.4, True),
    "g6e": ("L40S", 44.7, True),
    "p3": ("V100", 16.0, False),
    "p3dn": ("V100", 32.0, False),
    "p4d": ("A100", 40.0, True),
    "p4de": ("A100", 80.0, True),
    "p5": ("H100", 80.0, True),
    "p5e": ("H200", 141.0, True),
    "p5en": ("H200", 141.0, True),
    "p6-b200": ("B200", 179.0, True),
    "p6-b300": ("B300", 268.0, True),
    "p6e-gb200": ("GB200", 185.0, True),
    "trn1": ("Trainium", 32.0, True),
    "trn1n": ("Trainium", 32.0, True),
    "trn2": ("Trainium2", 96.0, True),
    "trn2u": ("Trainium2", 96.0, True),
    "a2-highgpu": ("A100", 40.0, True),
    "a2-megagpu": ("A100", 40.0, True),
    "a3-highgpu": ("H100", 80.0, True),
    "a3-megagpu": ("H100", 80.0, True),
    "a3-ultragpu": ("H200", 141.0, True),
}
_SIZES = {
    "xlarge": (4, 16.0),
    "2xlarge": (8, 32.0),
    "4xlarge": (16, 64.0),
    "8xlarge": (32, 128.0),
    "12xlarge": (48, 192.0),
    "16xlarge": (64, 256.0),
    "24xlarge": (96, 384.0),
    "48xlarge": (192, 768.0),
}
# (cores, GiB) of the machine itself.
_HOSTS = {
    **{f"{family}.{size}": each for family in ("g5", "g6") for size, each in _SIZES.items()},
    **{f"g6e.{size}": (cores, 2 * gib) for size, (cores, gib) in _SIZES.items()},
    **{f"g4dn.{size}": each for size, each in _SIZES.items() if size[:2] not in ("24", "48")},
    "g4dn.metal": (96, 384.0),
    "p3.2xlarge": (8, 61.0),
    "p3.8xlarge": (32, 244.0),
    "p3.16xlarge": (64, 488.0),
    "p3dn.24xlarge": (96, 768.0),
    "p4d.24xlarge": (96, 1152.0),
    "p4de.24xlarge": (96, 1152.0),
    "p5.48xlarge": (192, 2048.0),
    "p5e.48xlarge": (192, 2048.0),
    "p5en.48xlarge": (192, 2048.0),
    "p6-b200.48xlarge": (192, 2048.0),
    "p6-b300.48xlarge": (192, 4096.0),
    "p6e-gb200.36xlarge": (144, 960.0),
    "trn1.2xlarge": (8, 32.0),
    "trn1.32xlarge": (128, 512.0),
    "trn1n.32xlarge": (128, 512.0),
    "trn2.48xlarge": (192, 2048.0),
    "trn2u.48xlarge": (192, 2048.0),
    "m5.large": (2, 8.0),
    **{f"a2-highgpu-{count}g": (12 * count, 85.0 * count) for count in (1, 2, 4, 8)},
    "a2-megagpu-16g": (96, 1360.0),
    **{f"a3-highgpu-{count}g": (26 * count, 234.0 * count) for count in (1, 2, 4, 8)},
    "a3-megagpu-8g": (208, 1872.0),
    "a3-ultragpu-8g": (224, 2952.0),
}
