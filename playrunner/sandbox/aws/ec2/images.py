"""The machine images there are (a dozen, not the thousands of the real world) and the SSM
parameters that name them."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

if (
    TYPE_CHECKING
):  # moto reads the images when it is imported, so this file must not import it first
    from playrunner.sandbox.aws.api.wire import Call, Reply

AMAZON, CANONICAL = "137112412989", "099720109477"
EKS = "602401143452"
EKS_VARIANTS = ("standard", "nvidia", "neuron")
EKS_VERSIONS = ("1.29", "1.30", "1.31", "1.32", "1.33", "1.34")
# id: owner, name, architecture
IMAGES = {
    "ami-0a1000000000000a1": (AMAZON, "al2023-ami-2023.9.20251105.0-kernel-6.1-x86_64", "x86_64"),
    "ami-0a1000000000000a2": (AMAZON, "al2023-ami-2023.9.20251105.0-kernel-6.1-arm64", "arm64"),
    "ami-0a2000000000000a1": (
        CANONICAL,
        "ubuntu/images/hvm-ssd-gp3/ubuntu-noble-24.04-amd64-server-20251022",
        "x86_64",
    ),
    "ami-0a2000000000000a2": (
        CANONICAL,
        "ubuntu/images/hvm-ssd/ubuntu-jammy-22.04-amd64-server-20251022",
        "x86_64",
    ),
    "ami-0a3000000000000a1": (
        "898082745236",
        "Deep Learning OSS Nvidia Driver AMI GPU PyTorch 2.9 (Ubuntu 24.04) 20251101",
        "x86_64",
    ),
    "ami-0a3000000000000a2": (
        "898082745236",
        "Deep Learning AMI Neuron (Ubuntu 24.04) 20251101",
        "x86_64",
    ),
}

_AL2023 = "/aws/service/ami-amazon-linux-latest/al2023-ami-kernel-default"
_UBUNTU = "/aws/service/canonical/ubuntu/server"
PARAMETERS = {
    f"{_AL2023}-x86_64": "ami-0a1000000000000a1",
    f"{_AL2023}-arm64": "ami-0a1000000000000a2",
    f"{_UBUNTU}/24.04/stable/current/amd64/hvm/ebs-gp3/ami-id": "ami-0a2000000000000a1",
    f"{_UBUNTU}/22.04/stable/current/amd64/hvm/ebs-gp2/ami-id": "ami-0a2000000000000a2",
}
for _version in EKS_VERSIONS:
    for _index, _variant in enumerate(EKS_VARIANTS):
        _number = f"ami-0e{_version.replace('.', '')}00000000000{_index}"
        _path = (
            f"/aws/service/eks/optimized-ami/{_version}/amazon-linux-2023/x86_64/{_variant}"
            "/recommended/image_id"
        )
        IMAGES[_number] = (
            EKS,
            f"amazon-eks-node-al2023-x86_64-{_variant}-{_version}-v20251101",
            "x86_64",
        )
        PARAMETERS[_path] = _number


def write(path: Path) -> None:
    """The images in the form that moto loads."""
    common = {
        "state": "available",
        "public": True,
        "root_device_type": "ebs",
        "root_device_name": "/dev/xvda",
        "image_type": "machine",
        "virtualization_type": "hvm",
        "hypervisor": "xen",
        "sriov": "simple",
        "creation_date": "2025-11-01T00:00:00.000Z",
    }
    path.write_text(
        json.dumps(
            [
                {
                    **common,
                    "ami_id": number,
                    "owner_id": owner,
                    "name": name,
                    "description": name,
                    "architecture": architecture,
                    "image_location": f"amazon/{name}",
                }
                for number, (owner, name, architecture) in IMAGES.items()
            ]
        )
    )


def get_parameter(call: Call, moto: Callable[[], Reply]) -> Reply:
    from playrunner.sandbox.aws.api.wire import written

    name = call.params["Name"]
    return written(call, {"Parameter": _described(call, name)}) if name in PARAMETERS else moto()


def get_parameters(call: Call, moto: Callable[[], Reply]) -> Reply:
    from playrunner.sandbox.aws.api.wire import written

    names = call.params["Names"]
    if not all(name in PARAMETERS for name in names):
        return moto()
    return written(
        call, {"Parameters": [_described(call, name) for name in names], "InvalidParameters": []}
    )


def _described(call: Call, name: str) -> dict[str, Any]:
    arn = f"arn:aws:ssm:{call.region_name}::parameter{name}"
    changed = datetime(2025, 11, 1, tzinfo=UTC)
    return {
        "Name": name,
        "Type": "String",
        "Value": PARAMETERS[name],
        "Version": 1,
        "ARN": arn,
        "DataType": "aws:ec2:image",
        "LastModifiedDate": changed,
    }


AROUND = {"GetParameter": get_parameter, "GetParameters": get_parameters}
