"""List prices, to estimate the cost of plans and leftovers; not a quote.

The numbers are in playrunner/prices.json, which the sandbox's price list serves as well. Names end
with what is paid for: an HOUR, or a GIB for a month.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from playrunner.project import PACKAGE

_TABLE = json.loads((PACKAGE / "prices.json").read_text())
_AWS, _GCP = _TABLE["aws"], _TABLE["gcp"]

DATED: str = _TABLE["dated"]
SOURCE: str = _TABLE["source"]
HOURS = 730  # a month
GIB = 1024**3

REGIONS: tuple[str, ...] = tuple(_AWS["regions"])
EKS_CONTROL_PLANE_HOUR: float = _AWS["eks_control_plane_hour"]
# On top, once a version's standard support has ended
EKS_EXTENDED_SUPPORT_HOUR: float = _AWS["eks_extended_support_hour"]
NAT_GATEWAY_HOUR: float = _AWS["nat_gateway_hour"]
NAT_GATEWAY_GIB: float = _AWS["nat_gateway_gib"]  # through it
PUBLIC_IPV4_HOUR: float = _AWS["public_ipv4_hour"]
INTERFACE_ENDPOINT_HOUR: float = _AWS["interface_endpoint_hour"]  # for each subnet it is in
LOAD_BALANCER_HOUR: dict[str, float] = _AWS["load_balancer_hour"]
INSTANCE_HOUR: dict[str, float] = _AWS["instance_hour"]
VOLUME_GIB: dict[str, float] = _AWS["volume_gib"]
SNAPSHOT_GIB: float = _AWS["snapshot_gib"]
EFS_GIB: dict[str, float] = _AWS["efs_gib"]
LUSTRE_GIB: dict[tuple[str, int], float] = {  # by deployment type and MB/s per TiB
    (deployment, int(throughput)): price
    for deployment, by_throughput in _AWS["lustre_gib"].items()
    for throughput, price in by_throughput.items()
}
BUCKET_GIB: float = _AWS["bucket_gib"]
LOG_GIB: float = _AWS["log_gib"]
IMAGE_GIB: float = _AWS["image_gib"]

GCP_REGIONS: tuple[str, ...] = tuple(_GCP["regions"])
GKE_CLUSTER_HOUR: float = _GCP["gke_cluster_hour"]
GCP_MACHINE_HOUR: dict[str, float] = _GCP["machine_hour"]
# Those that a machine's price does not include
GCP_ACCELERATOR_HOUR: dict[str, float] = _GCP["accelerator_hour"]
GCP_DISK_GIB: dict[str, float] = _GCP["disk_gib"]
GCP_FORWARDING_RULE_HOUR: float = _GCP["forwarding_rule_hour"]
GCP_ADDRESS_HOUR: float = _GCP["address_hour"]
GCP_BUCKET_GIB: float = _GCP["bucket_gib"]
GCP_IMAGE_GIB: float = _GCP["image_gib"]


def instance(raw: Mapping[str, Any]) -> float | None:
    """A machine at its on-demand price; a spot machine costs less, a stopped one nothing."""
    if raw["State"]["Name"] not in ("pending", "running"):
        return 0.0
    hour = INSTANCE_HOUR.get(str(raw.get("InstanceType")))
    return None if hour is None else hour * HOURS


def volume(raw: Mapping[str, Any]) -> float | None:
    price = VOLUME_GIB.get(str(raw.get("VolumeType")))
    return None if price is None else price * float(raw.get("Size") or 0)


def gcp_disk(raw: Mapping[str, Any]) -> float | None:
    price = GCP_DISK_GIB.get(str(raw.get("type")).rpartition("/")[2])
    return None if price is None else price * float(raw.get("sizeGb") or 0)


def endpoint(raw: Mapping[str, Any]) -> float | None:
    if raw.get("VpcEndpointType") == "Interface":
        return INTERFACE_ENDPOINT_HOUR * HOURS * max(1, len(raw.get("SubnetIds") or ()))
    return 0.0 if raw.get("VpcEndpointType") == "Gateway" else None


def elastic_file_system(raw: Mapping[str, Any]) -> float:
    kind = "one zone" if raw.get("AvailabilityZoneName") else "regional"
    return EFS_GIB[kind] * float((raw.get("SizeInBytes") or {}).get("Value") or 0) / GIB


def lustre(raw: Mapping[str, Any]) -> float | None:
    said = raw.get("LustreConfiguration") or {}
    price = LUSTRE_GIB.get(
        (str(said.get("DeploymentType")), int(said.get("PerUnitStorageThroughput") or 0))
    )
    return None if price is None else price * float(raw.get("StorageCapacity") or 0)
