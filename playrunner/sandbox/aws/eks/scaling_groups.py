"""The auto scaling groups of node groups, as the service auto scaling shows them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from playrunner.sandbox.aws.api.aws_state import ACCOUNT
from playrunner.sandbox.aws.api.wire import Call, Reply, written


def describe(call: Call, moto: Callable[[], Reply]) -> Reply:
    """Ours where they are asked for by name; else what moto has."""
    wanted = call.params.get("AutoScalingGroupNames") or []
    ours = [group for group in _groups(call) if group["AutoScalingGroupName"] in wanted]
    return written(call, {"AutoScalingGroups": ours}) if ours else moto()


def _groups(call: Call) -> Iterator[dict[str, Any]]:
    for (cluster, name), nodegroup in call.region.nodegroups.items():
        sizes = nodegroup["scalingConfig"]
        group = nodegroup["resources"]["autoScalingGroups"][0]["name"]
        yield {
            "AutoScalingGroupName": group,
            "AutoScalingGroupARN": f"arn:aws:autoscaling:{call.region_name}:{ACCOUNT}"
            f":autoScalingGroup:{group}:autoScalingGroupName/{group}",
            "MinSize": sizes["minSize"],
            "MaxSize": sizes["maxSize"],
            "DesiredCapacity": sizes["desiredSize"],
            "DefaultCooldown": 300,
            "AvailabilityZones": [],
            "HealthCheckType": "EC2",
            "CreatedTime": nodegroup["createdAt"],
            "VPCZoneIdentifier": ",".join(nodegroup["subnets"]),
            "Instances": [
                {
                    "InstanceId": number,
                    "AvailabilityZone": "",
                    "LifecycleState": "InService",
                    "HealthStatus": "Healthy",
                    "ProtectedFromScaleIn": False,
                }
                for number in call.region.nodes[cluster, name]
            ],
            "Tags": [
                {
                    "Key": "eks:nodegroup-name",
                    "Value": name,
                    "ResourceId": group,
                    "ResourceType": "auto-scaling-group",
                    "PropagateAtLaunch": True,
                }
            ],
        }


AROUND = {"DescribeAutoScalingGroups": describe}
