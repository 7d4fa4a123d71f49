"""List prices, to estimate the cost of plans and leftovers; not a quote."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

DATED = "2025-06"
REGIONS = ("us-east-1", "us-west-2")
SOURCE = (
    "AWS public on-demand price lists of us-east-1 and us-west-2 (equal for everything here), and"
    " Google Cloud's of us-central1; other regions differ"
)
HOURS = 730  # a month
GIB = 1024**3

EKS_CONTROL_PLANE_HOUR = 0.10
EKS_EXTENDED_SUPPORT_HOUR = 0.50  # on top, once a version's standard support has ended
NAT_GATEWAY_HOUR = 0.045
NAT_GATEWAY_GIB = 0.045  # through it
PUBLIC_IPV4_HOUR = 0.005
INTERFACE_ENDPOINT_HOUR = 0.01  # for each subnet it is in
LOAD_BALANCER_HOUR = {"application": 0.0225, "network": 0.0225, "gateway": 0.0125, "classic": 0.025}
INSTANCE_HOUR = {
    "t3.micro": 0.0104,
    "t3.small": 0.0208,
    "t3.medium": 0.0416,
    "t3.large": 0.0832,
    "m5.large": 0.096,
    "m5.xlarge": 0.192,
    "m5.2xlarge": 0.384,
    "c5.xlarge": 0.17,
    "c5.2xlarge": 0.34,
    "g4dn.xlarge": 0.526,
    "g4dn.2xlarge": 0.752,
    "g4dn.8xlarge": 2.176,
    "g4dn.12xlarge": 3.912,
    "g5.xlarge": 1.006,
    "g5.2xlarge": 1.212,
    "g5.12xlarge": 5.672,
    "g5.48xlarge": 16.288,
    "p4d.24xlarge": 21.9576,
    "p4de.24xlarge": 27.4471,
    "p5.48xlarge": 55.04,
    "trn1.2xlarge": 1.3438,
    "trn1.32xlarge": 21.50,
    "trn1n.32xlarge": 24.78,
    "trn2.48xlarge": 35.7608,
}
VOLUME_GIB = {
    "gp3": 0.08,
    "gp2": 0.10,
    "io1": 0.125,
    "io2": 0.125,
    "st1": 0.045,
    "sc1": 0.015,
    "standard": 0.05,
}
SNAPSHOT_GIB = 0.05
EFS_GIB = {"regional": 0.30, "one zone": 0.16}
LUSTRE_GIB = {  # by deployment type and MB/s per TiB
    ("SCRATCH_1", 0): 0.140,
    ("SCRATCH_2", 0): 0.140,
    ("PERSISTENT_1", 50): 0.140,
    ("PERSISTENT_1", 100): 0.190,
    ("PERSISTENT_1", 200): 0.290,
    ("PERSISTENT_2", 125): 0.145,
    ("PERSISTENT_2", 250): 0.210,
    ("PERSISTENT_2", 500): 0.340,
    ("PERSISTENT_2", 1000): 0.600,
}
GCP_REGIONS = ("us-central1", "us-east1", "us-west1")
GKE_CLUSTER_HOUR = 0.10
GCP_MACHINE_HOUR = {
    "e2-medium": 0.03351,
    "e2-standard-2": 0.06701,
    "e2-standard-4": 0.13402,
    "e2-standard-8": 0.26805,
    "e2-standard-16": 0.53609,
    "n1-standard-2": 0.095,
    "n1-standard-4": 0.19,
    "n1-standard-8": 0.38,
    "n1-standard-16": 0.76,
    "n2-standard-4": 0.19424,
    "n2-standard-8": 0.38847,
    "a2-highgpu-1g": 3.67339,
    "a2-highgpu-2g": 7.34677,
    "a2-highgpu-4g": 14.69354,
    "a2-highgpu-8g": 29.38708,
    "a2-megagpu-16g": 55.73950,
    "g2-standard-4": 0.70683,
    "g2-standard-8": 0.85362,
    "g2-standard-24": 1.99899,
    "a3-highgpu-8g": 88.49,
}
GCP_ACCELERATOR_HOUR = {
    "nvidia-tesla-t4": 0.35,
    "nvidia-tesla-v100": 2.48,
}  # those that a machine's price does not include
GCP_DISK_GIB = {"pd-standard": 0.04, "pd-balanced": 0.10, "pd-ssd": 0.17}
GCP_FORWARDING_RULE_HOUR = 0.025
GCP_ADDRESS_HOUR = 0.005
GCP_BUCKET_GIB = 0.020
GCP_IMAGE_GIB = 0.10
BUCKET_GIB = 0.023
LOG_GIB = 0.03
IMAGE_GIB = 0.10


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
