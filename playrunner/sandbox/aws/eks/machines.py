"""The nodes behind every EKS cluster, as the controllers need them to create Kubernetes nodes: `GET
/_sandbox/nodes`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from moto.ec2.models.instance_types import INSTANCE_TYPES

from playrunner.sandbox.aws.api.aws_state import AwsState, Region
from playrunner.sandbox.aws.ec2 import machines, network
from playrunner.sandbox.aws.eks import nodes as eks_nodes

# 5128 pages of 2 MiB, as EKS's accelerated images set aside where there is EFA
HUGE_PAGES = "10256Mi"


def listing(state: AwsState) -> dict[str, Any]:
    """The clusters by name, the running machines of their node groups, and the API server that they
    lead to."""
    state.timeline.catch_up()
    regions = list(state.each_region())
    clusters = [
        name
        for region in regions
        for name, cluster in region.clusters.items()
        if cluster["status"] != "CREATING"
    ]
    nodes = [node for region in regions for node in _nodes(region)]
    return {"clusters": clusters, "nodes": nodes, "eks_endpoint": state.settings.eks_endpoint}


def _nodes(region: Region) -> Iterator[dict[str, Any]]:
    running = {
        one.id: one for one in machines.alive(region.name) if one.state == machines.RUNNING[0]
    }
    for key, ids in region.nodes.items():
        group = region.nodegroups.get(key)
        for number in ids if group else ():
            if number in running:
                yield _node(region.name, group or {}, running[number])


def _node(region: str, group: dict[str, Any], instance: Any) -> dict[str, Any]:
    facts = INSTANCE_TYPES[instance.instance_type]
    zone = instance.availability_zone
    subnet = network.backend(region).get_subnet(instance.subnet_id)
    interfaces, addresses = (
        facts["NetworkInfo"]["MaximumNetworkInterfaces"],
        facts["NetworkInfo"]["Ipv4AddressesPerInterface"],
    )
    devices = _devices(facts, _efa_cards(region, group))
    return {
        "name": instance.private_dns_name,
        "cpu": facts["VCpuInfo"]["DefaultVCpus"],
        "memory_gib": facts["MemoryInfo"]["SizeInMiB"] / 1024,
        "pods": min(
            interfaces * (addresses - 1) + 2, 250 if facts["VCpuInfo"]["DefaultVCpus"] > 30 else 110
        ),
        "labels": {
            "eks.amazonaws.com/nodegroup": group["nodegroupName"],
            "eks.amazonaws.com/capacityType": group["capacityType"],
            "eks.amazonaws.com/nodegroup-image": str(instance.image_id),
            "topology.k8s.aws/zone-id": subnet.availability_zone_id,
            **group["labels"],
        },
        "taints": [_taint(one) for one in group["taints"]],
        "devices": devices,
        "resources": {"hugepages-2Mi": HUGE_PAGES}
        if "vpc.amazonaws.com/efa" in devices or "NeuronInfo" in facts
        else {},
        "provider_id": f"aws:///{zone}/{instance.id}",
        "region": region,
        "zone": zone,
        "instance_type": instance.instance_type,
    }


def _devices(facts: dict[str, Any], efa: int) -> dict[str, int]:
    devices = {}
    gpus = sum(
        device["Count"]
        for device in (facts.get("GpuInfo") or {}).get("Gpus", ())
        if device.get("Manufacturer") == "NVIDIA"
    )
    neurons = (facts.get("NeuronInfo") or {}).get("NeuronDevices", ())
    if gpus:
        devices["nvidia.com/gpu"] = gpus
    if neurons:
        count = sum(device["Count"] for device in neurons)
        devices["aws.amazon.com/neuron"] = count
        devices["aws.amazon.com/neuroncore"] = sum(
            device["Count"] * device["CoreInfo"]["Count"] for device in neurons
        )
    if efa:
        devices["vpc.amazonaws.com/efa"] = efa
    return devices


def _efa_cards(region: str, group: dict[str, Any]) -> int:
    """As many as the launch template asks for: without one there is no EFA, whatever the machine
    could have."""
    interfaces = eks_nodes.template_of(region, group).get("NetworkInterfaces") or []
    return sum(1 for one in interfaces if str(one.get("InterfaceType", "")).startswith("efa"))


def _taint(taint: dict[str, str]) -> dict[str, str]:
    effects = {
        "NO_SCHEDULE": "NoSchedule",
        "NO_EXECUTE": "NoExecute",
        "PREFER_NO_SCHEDULE": "PreferNoSchedule",
    }
    value = {"value": taint["value"]} if taint.get("value") else {}
    return {"key": taint["key"], **value, "effect": effects.get(taint["effect"], taint["effect"])}
