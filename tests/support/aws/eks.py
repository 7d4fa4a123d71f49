"""What the tests of EKS modules stand on: a network and roles that are not ours, and steps for a
cluster that is."""

from __future__ import annotations

from typing import Any

from tests.support.aws.module_stage import AwsStage

ZONES = ("us-west-2a", "us-west-2b", "us-west-2c")


class EksNetwork:
    """Subnets and roles, and the steps that build on them."""

    def __init__(self, stage: AwsStage) -> None:
        self.vpc, self.subnets = stage.aws.network(ZONES)
        self.control_role = stage.aws.role("control", "eks.amazonaws.com")
        self.node_role = stage.aws.role("node", "ec2.amazonaws.com")

    def cluster(self, **more: Any) -> dict[str, Any]:
        declared = {
            "name": "lab",
            "role_arn": self.control_role,
            "subnets": self.subnets,
            "version": "1.33",
            **more,
        }
        return {"name": "cluster", "aws.eks_cluster": declared, "register": "cluster"}

    def nodegroup(self, **more: Any) -> dict[str, Any]:
        declared = {
            "cluster": "{{ cluster.name }}",
            "name": "workers",
            "node_role": self.node_role,
            "subnets": self.subnets,
            "instance_types": ["m5.large"],
            "min_size": 1,
            "max_size": 3,
            "desired_size": 2,
            **more,
        }
        return {"name": "nodes", "aws.eks_nodegroup": declared, "register": "nodes"}

    def addon(self, name: str, **more: Any) -> dict[str, Any]:
        return {
            "name": name,
            "aws.eks_addon": {"cluster": "{{ cluster.name }}", "name": name, **more},
        }
