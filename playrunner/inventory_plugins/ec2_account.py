"""The AWS account of an inventory file: its credentials, its regions, and what EC2 lists there."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from playrunner.aws.client import Aws
from playrunner.aws.session import Account, AwsSettings
from playrunner.cloud.extras import packages_of
from playrunner.cloud.resource import Refused
from playrunner.inventory_plugins.plugin_options import PluginOptions

ACCOUNT_OPTIONS = (
    "access_key",
    "assume_role_arn",
    "aws_access_key",
    "aws_access_key_id",
    "aws_endpoint_url",
    "aws_profile",
    "aws_region",
    "aws_secret_access_key",
    "aws_secret_key",
    "aws_session_token",
    "boto_profile",
    "endpoint_url",
    "iam_role_arn",
    "profile",
    "region",
    "secret_key",
    "session_token",
)
_FIRST_REGION = "us-east-1"  # knows all regions of an account
_SESSION_NAME = "playrunner-inventory"
_DENIED = ("UnauthorizedOperation", "AccessDenied")


class KeyedAccount(Account):
    """An account opened with keys that the inventory file gives, not with a profile's."""

    def __init__(self, settings: AwsSettings, keys: dict[str, str]) -> None:
        super().__init__(settings)
        self._keys = keys

    def _open(self) -> Any:
        if not self._keys:
            return super()._open()
        with packages_of("aws", "AWS needs boto3"):
            import boto3

        return boto3.Session(region_name=self.settings.region or None, **self._keys)


class Ec2Account:
    """One account in all the regions that an inventory file asks for."""

    def __init__(self, options: PluginOptions) -> None:
        self._options = options
        self._keys = {
            name: text
            for name, text in (
                (
                    "aws_access_key_id",
                    options.first("access_key", "aws_access_key", "aws_access_key_id"),
                ),
                (
                    "aws_secret_access_key",
                    options.first("secret_key", "aws_secret_key", "aws_secret_access_key"),
                ),
                ("aws_session_token", options.first("session_token", "aws_session_token")),
            )
            if text
        }
        role = options.first("assume_role_arn", "iam_role_arn")
        if role:
            self._keys = self._keys_of_role(role)

    def regions(self) -> list[str]:
        named = self._options.texts("regions")
        if named:
            return named
        listed = self._client(self._home_region()).read("ec2", "describe_regions")["Regions"]
        return [str(region["RegionName"]) for region in listed]

    def instances(self, regions: list[str], filters: dict[str, list[str]]) -> Iterator[Any]:
        """The instances that fit all filters, with what their reservation says of them; where the
        file does not ask for a state, those that are not terminated."""
        wanted = {
            "instance-state-name": ["running", "pending", "stopping", "stopped"],
            **filters,
        }
        asked = [{"Name": name, "Values": values} for name, values in wanted.items()]
        for region in regions:
            try:
                answer = self._client(region).read("ec2", "describe_instances", Filters=asked)
            except Refused as refusal:
                if refusal.code in _DENIED and not self._options.flag("strict_permissions", True):
                    continue
                raise
            for reservation in answer["Reservations"]:
                for instance in reservation["Instances"]:
                    yield {
                        **instance,
                        "OwnerId": reservation.get("OwnerId", ""),
                        "RequesterId": reservation.get("RequesterId", ""),
                        "ReservationId": reservation.get("ReservationId", ""),
                    }

    def _keys_of_role(self, role: str) -> dict[str, str]:
        sts = self._client(self._home_region())
        answer = sts.read("sts", "assume_role", RoleArn=role, RoleSessionName=_SESSION_NAME)
        credentials = answer["Credentials"]
        return {
            "aws_access_key_id": credentials["AccessKeyId"],
            "aws_secret_access_key": credentials["SecretAccessKey"],
            "aws_session_token": credentials["SessionToken"],
        }

    def _home_region(self) -> str:
        return self._options.first("region", "aws_region") or _FIRST_REGION

    def _client(self, region: str) -> Aws:
        settings = AwsSettings(
            region=region,
            profile=""
            if self._keys
            else self._options.first("profile", "aws_profile", "boto_profile"),
            endpoint_url=self._options.first("endpoint_url", "aws_endpoint_url"),
        )
        return Aws(KeyedAccount(settings, self._keys))
