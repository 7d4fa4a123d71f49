"""What can be had where: regions, zones, machine types and accelerators. A small part of the real
catalogue."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from playrunner.sandbox.gcp.gcp_state import digest
from playrunner.sandbox.gcp.messages import Call, GcpError, missing

REGIONS = {"us-central1": "abcf", "us-west1": "abc", "us-east1": "bcd", "europe-west4": "abc"}


@dataclass(frozen=True)
class Machine:
    """A machine type: what one has."""

    cpus: int
    memory_gib: float
    accelerator: str = ""
    accelerators: int = 0

    @property
    def family(self) -> str:
        """The quota its CPUs count against."""
        return "A2_CPUS" if self.accelerator == "nvidia-tesla-a100" else "CPUS"


MACHINES = {
    "e2-medium": Machine(2, 4),
    "e2-standard-2": Machine(2, 8),
    "e2-standard-4": Machine(4, 16),
    "e2-standard-8": Machine(8, 32),
    "e2-standard-16": Machine(16, 64),
    "n1-standard-2": Machine(2, 7.5),
    "n1-standard-4": Machine(4, 15),
    "n1-standard-8": Machine(8, 30),
    "n1-standard-16": Machine(16, 60),
    "n1-standard-32": Machine(32, 120),
    "n2-standard-4": Machine(4, 16),
    "n2-standard-8": Machine(8, 32),
    "a2-highgpu-1g": Machine(12, 85, "nvidia-tesla-a100", 1),
    "a2-highgpu-2g": Machine(24, 170, "nvidia-tesla-a100", 2),
    "a2-highgpu-4g": Machine(48, 340, "nvidia-tesla-a100", 4),
    "a2-highgpu-8g": Machine(96, 680, "nvidia-tesla-a100", 8),
    "a2-megagpu-16g": Machine(96, 1360, "nvidia-tesla-a100", 16),
    "g2-standard-4": Machine(4, 16, "nvidia-l4", 1),
    "g2-standard-8": Machine(8, 32, "nvidia-l4", 1),
    "g2-standard-24": Machine(24, 96, "nvidia-l4", 2),
    "a3-highgpu-8g": Machine(208, 1872, "nvidia-h100-80gb", 8),
}
ACCELERATORS = {  # the most that one machine takes, and the zones that have some
    "nvidia-tesla-a100": (
        16,
        (
            "us-central1-a",
            "us-central1-b",
            "us-central1-c",
            "us-central1-f",
            "us-west1-b",
            "europe-west4-a",
            "europe-west4-b",
        ),
    ),
    "nvidia-tesla-t4": (
        4,
        (
            "us-central1-a",
            "us-central1-b",
            "us-central1-c",
            "us-central1-f",
            "us-west1-a",
            "us-west1-b",
            "us-east1-c",
            "us-east1-d",
            "europe-west4-a",
            "europe-west4-b",
            "europe-west4-c",
        ),
    ),
    "nvidia-l4": (
        8,
        (
            "us-central1-a",
            "us-central1-b",
            "us-central1-c",
            "us-west1-a",
            "us-west1-b",
            "us-east1-b",
            "us-east1-d",
            "europe-west4-a",
            "europe-west4-b",
            "europe-west4-c",
        ),
    ),
    "nvidia-tesla-v100": (
        8,
        (
            "us-central1-a",
            "us-central1-b",
            "us-central1-c",
            "us-central1-f",
            "us-west1-a",
            "us-west1-b",
        ),
    ),
    "nvidia-h100-80gb": (
        8,
        ("us-central1-a", "us-central1-c", "us-west1-a", "us-east1-d", "europe-west4-b"),
    ),
}


def zones(region: str = "") -> list[str]:
    return [
        f"{name}-{letter}"
        for name, letters in REGIONS.items()
        for letter in letters
        if region in ("", name)
    ]


def region_of(location: str) -> str:
    return location if location in REGIONS else location.rpartition("-")[0]


def zones_of(location: str) -> list[str]:
    """The zones that a location stands for: itself, or three of a region."""
    return zones(location)[:3] if location in REGIONS else [location]


def known(location: str) -> bool:
    return location in REGIONS or location in zones()


def offers(zone: str, machine: str) -> bool:
    kind = MACHINES.get(machine)
    return kind is not None and (not kind.accelerator or zone in ACCELERATORS[kind.accelerator][1])


def check_zone(call: Call) -> None:
    if call.location not in zones():
        raise missing(f"The resource 'projects/{call.project}/zones/{call.location}' was not found")


def list_zones(call: Call) -> dict[str, Any]:
    return {"kind": "compute#zoneList", "items": [_zone(call, name) for name in zones()]}


def get_zone(call: Call) -> dict[str, Any]:
    if call.at["name"] not in zones():
        raise missing(
            f"The resource 'projects/{call.project}/zones/{call.at['name']}' was not found"
        )
    return _zone(call, call.at["name"])


def list_machine_types(call: Call) -> dict[str, Any]:
    check_zone(call)
    return {
        "kind": "compute#machineTypeList",
        "items": [_machine(call, name) for name in MACHINES if offers(call.location, name)],
    }


def get_machine_type(call: Call) -> dict[str, Any]:
    check_zone(call)
    if not offers(call.location, call.at["name"]):
        path = f"projects/{call.project}/zones/{call.location}/machineTypes/{call.at['name']}"
        raise missing(f"The resource '{path}' was not found")
    return _machine(call, call.at["name"])


def list_accelerators(call: Call) -> dict[str, Any]:
    check_zone(call)
    return {"kind": "compute#acceleratorTypeList", "items": _accelerators(call, call.location)}


def all_accelerators(call: Call) -> dict[str, Any]:
    found = {f"zones/{zone}": {"acceleratorTypes": _accelerators(call, zone)} for zone in zones()}
    return {"kind": "compute#acceleratorTypeAggregatedList", "items": found}


def _accelerators(call: Call, zone: str) -> list[dict[str, Any]]:
    base = f"{call.request.base}/compute/v1/projects/{call.project}/zones/{zone}"
    return [
        {
            "kind": "compute#acceleratorType",
            "id": str(int(digest(zone, name), 16)),
            "name": name,
            "zone": base,
            "description": name,
            "maximumCardsPerInstance": most,
            "selfLink": f"{base}/acceleratorTypes/{name}",
        }
        for name, (most, where) in ACCELERATORS.items()
        if zone in where
    ]


def _zone(call: Call, name: str) -> dict[str, Any]:
    base = f"{call.request.base}/compute/v1/projects/{call.project}"
    return {
        "kind": "compute#zone",
        "id": str(int(digest(name), 16)),
        "name": name,
        "description": name,
        "status": "UP",
        "region": f"{base}/regions/{region_of(name)}",
        "selfLink": f"{base}/zones/{name}",
    }


def _machine(call: Call, name: str) -> dict[str, Any]:
    kind = MACHINES[name]
    base = f"{call.request.base}/compute/v1/projects/{call.project}/zones/{call.location}"
    cards = (
        [{"guestAcceleratorType": kind.accelerator, "guestAcceleratorCount": kind.accelerators}]
        if kind.accelerator
        else []
    )
    return {
        "kind": "compute#machineType",
        "id": str(int(digest(name), 16)),
        "name": name,
        "guestCpus": kind.cpus,
        "memoryMb": int(kind.memory_gib * 1024),
        "zone": call.location,
        "selfLink": f"{base}/machineTypes/{name}",
        **({"accelerators": cards} if cards else {}),
    }


def check_machine(zone: str, machine: str, accelerators: list[dict[str, Any]]) -> None:
    """Refuse, as the container API does, what a zone does not have."""
    if machine not in MACHINES:
        raise GcpError(400, f'Machine type with name "{machine}" does not exist in zone "{zone}".')
    wanted = [str(one.get("acceleratorType")) for one in accelerators]
    for name in wanted:
        if zone not in ACCELERATORS.get(name, (0, ()))[1]:
            raise GcpError(400, f'Accelerator type "{name}" does not exist in zone {zone}.')
    if not offers(zone, machine):
        raise GcpError(400, f'Machine type with name "{machine}" does not exist in zone "{zone}".')
    own = MACHINES[machine].accelerator
    if own and wanted and own != wanted[0]:
        raise GcpError(
            400, f"Accelerator type {wanted[0]} is not compatible with machine type {machine}."
        )
