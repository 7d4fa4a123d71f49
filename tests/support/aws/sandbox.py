"""A pretend AWS for tests: one server per test process, made new between tests, and short words for
common needs."""

from __future__ import annotations

import json
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

from playrunner.sandbox.aws.api import process
from playrunner.sandbox.aws.api.process import Aws
from playrunner.sandbox.http import control_secret
from tests.support.until import until

ZONES = ("us-west-2a", "us-west-2b")


class PretendAws:
    """A running server, its clients and its control API."""

    def __init__(self, root: Path) -> None:
        import boto3
        from botocore.config import Config

        self.root = root
        self.up: Aws = process.up(root)
        keys = {
            "aws_access_key_id": self.up.access_key_id,
            "aws_secret_access_key": self.up.secret_access_key,
        }
        self._session = boto3.Session(region_name=self.up.region, **keys)
        # Longer than a busy machine takes: what is asked for again is made already
        self._config = Config(
            retries={"mode": "standard", "max_attempts": 3}, read_timeout=30, proxies={}
        )
        self._clients: dict[tuple[str, str | None, bool], Any] = {}

    def client(self, service: str, region: str | None = None, retry: bool = True) -> Any:
        key = service, region, retry
        if key not in self._clients:
            from botocore.config import Config

            once = Config(retries={"max_attempts": 0}, read_timeout=2)
            config = self._config if retry else self._config.merge(once)
            self._clients[key] = self._session.client(
                service, region_name=region, endpoint_url=self.up.endpoint_url, config=config
            )
        return self._clients[key]

    def control(self, method: str, name: str, wish: Any = None) -> Any:
        body = None if wish is None else json.dumps(wish).encode()
        secret = control_secret.header(self.root / "aws")
        request = urllib.request.Request(
            f"{self.up.endpoint_url}/_sandbox/{name}", body, secret, method=method
        )
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with opener.open(request, timeout=60) as answer:
            return json.load(answer)

    def empty(self) -> None:
        """Begin anew: an empty account where nothing takes time."""
        self.control("POST", "reset")
        self.control("DELETE", "faults")
        self.delays(**{"*": 0.0})

    def fault(self, kind: str, **more: Any) -> None:
        self.control("POST", "faults", {"kind": kind, **more})

    def calls(self, action: str | None = None, lease: bool = False) -> list[dict[str, Any]]:
        """What was asked: of one action, or all but what a run asks for its lease."""
        return [
            call
            for call in self.control("GET", "calls")
            if (call["action"] == action if action else lease or not _is_of_lease(call))
        ]

    def delays(self, **seconds: float) -> None:
        self.control(
            "POST",
            "settings",
            {"delays": {name.replace("__", "."): value for name, value in seconds.items()}},
        )

    def network(self, zones: tuple[str, ...] = ZONES) -> tuple[str, list[str]]:
        """A VPC with a subnet in each zone."""
        ec2 = self.client("ec2")
        vpc = ec2.create_vpc(CidrBlock="192.168.0.0/16")["Vpc"]["VpcId"]
        blocks = [f"192.168.{32 * index}.0/19" for index in range(len(zones))]
        made = [
            ec2.create_subnet(VpcId=vpc, CidrBlock=block, AvailabilityZone=zone)
            for block, zone in zip(blocks, zones, strict=True)
        ]
        return vpc, [one["Subnet"]["SubnetId"] for one in made]

    def role(self, name: str, service: str) -> str:
        trust = {"Effect": "Allow", "Principal": {"Service": service}, "Action": "sts:AssumeRole"}
        document = json.dumps({"Version": "2012-10-17", "Statement": [trust]})
        return str(
            self.client("iam").create_role(RoleName=name, AssumeRolePolicyDocument=document)[
                "Role"
            ]["Arn"]
        )

    def cluster(self, subnets: list[str], name: str = "demo", **more: Any) -> dict[str, Any]:
        """An active cluster."""
        eks = self.client("eks")
        role = self.role(f"{name}-control", "eks.amazonaws.com")
        eks.create_cluster(
            name=name, roleArn=role, resourcesVpcConfig={"subnetIds": subnets}, **more
        )
        return until(
            lambda: eks.describe_cluster(name=name)["cluster"],
            lambda found: found["status"] == "ACTIVE",
        )

    def nodegroup(
        self,
        cluster: str,
        subnets: list[str],
        name: str = "workers",
        wait: bool = True,
        **more: Any,
    ) -> dict[str, Any]:
        eks = self.client("eks")
        role = self.role(f"{cluster}-{name}-node", "ec2.amazonaws.com")
        made = eks.create_nodegroup(
            clusterName=cluster, nodegroupName=name, subnets=subnets, nodeRole=role, **more
        )["nodegroup"]
        return self.settled(cluster, name) if wait else made

    def settled(self, cluster: str, name: str = "workers") -> dict[str, Any]:
        eks = self.client("eks")
        look = lambda: eks.describe_nodegroup(clusterName=cluster, nodegroupName=name)["nodegroup"]  # noqa: E731
        return until(look, lambda found: found["status"] not in ("CREATING", "UPDATING"))

    def instances(self) -> list[dict[str, Any]]:
        found = self.client("ec2").describe_instances()["Reservations"]
        return [instance for reservation in found for instance in reservation["Instances"]]


def refused(call: Callable[[], Any]) -> str:
    """The code of the error that a call ends in."""
    from botocore.exceptions import ClientError

    try:
        answer = call()
    except ClientError as error:
        return str(error.response["Error"]["Code"])
    raise AssertionError(f"was not refused: {answer!r}")


def _is_of_lease(call: dict[str, Any]) -> bool:
    return call["service"] == "ssm" and str(call["action"]).endswith("Parameter")
