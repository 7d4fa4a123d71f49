"""Account: one AWS account and region for a whole run: clients, and the reads that steps share.

boto3 is loaded with the first call. Its own retries are off: what may be repeated is for
playrunner.aws.client to decide.
"""

from __future__ import annotations

import json
import re
import threading
import time
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

from playrunner.aws.answers import bounded, checked, unreadable
from playrunner.aws.errors import boto_errors
from playrunner.cloud.extras import packages_of
from playrunner.cloud.shared_reads import SharedReads
from playrunner.errors import PlayrunnerError, RunRefused
from playrunner.frozen import frozen

# What stays the same for as long as a run takes: asked for once.
STEADY = (
    "get_caller_identity",
    "describe_availability_zones",
    "describe_cluster_versions",
    "describe_instance_types",
    "describe_instance_type_offerings",
)
# What is not found by one of these is gone.
ENDING = ("delete_", "release_", "terminate_", "detach_", "disassociate_", "revoke_", "remove_")
# By itself IAM gives a hundred at once, of an account that may have a thousand roles of others.
_PAGE_SIZES = {"iam": 1000}
_ID = re.compile(r"\b[a-z]{1,12}-[0-9a-f]{8,17}\b")  # as vpc-0123456789abcdef0


@frozen
class AwsSettings:
    """Which account, region and credentials; boto3 finds what is left empty."""

    region: str = ""
    profile: str = ""
    # Instead of ~/.aws/credentials; never put keys themselves into an inventory
    credentials_file: str = ""
    endpoint_url: str = ""


def settings_of(lookup: Callable[[str], Any]) -> AwsSettings:
    """From the variables of an inventory: aws_region, aws_profile, ..."""
    names = AwsSettings.__dataclass_fields__
    return AwsSettings(**{name: str(lookup(f"aws_{name}") or "") for name in names})


class Account:
    """The clients of one account and region, made when first used."""

    def __init__(self, settings: AwsSettings) -> None:
        self.settings = settings
        self._clients: dict[str, Any] = {}
        self._reads = SharedReads()
        self._client_lock = threading.Lock()
        self._session: Any = None
        # Ids and names of what was made or shown, and when; what is ended is none of them
        self._seen: dict[str, float] = {}
        # Before each change: refuses where another run has taken the stack
        self.confirm_lease: Callable[[], None] = lambda: None

    def client(self, service: str) -> Any:
        with self._client_lock:
            if service not in self._clients:
                self._clients[service] = self._make(service)
            return self._clients[service]

    @property
    def region(self) -> str:
        return str(self.client("sts").meta.region_name)

    def read(
        self, service: str, operation: str, arguments: Mapping[str, Any], not_before: float
    ) -> Any:
        """The answer to a read that any step started after `not_before`."""
        key = service, operation, json.dumps(arguments, sort_keys=True, default=str)
        if operation in STEADY:
            service_topic, not_before = "", 0.0  # no change of ours, no time makes another answer
        else:
            service_topic = service
        return self._reads.read(
            key, service_topic, not_before, lambda: self._shown(service, operation, arguments)
        )

    def _shown(self, service: str, operation: str, arguments: Mapping[str, Any]) -> Any:
        answer = self._pages(service, operation, arguments)
        self._seen.update(dict.fromkeys(_ID.findall(str(answer)), time.monotonic()))
        return answer

    def change(self, service: str, operation: str, arguments: Mapping[str, Any]) -> Any:
        client = self.client(service)
        answer = _answered(
            client, operation, False, lambda: getattr(client, operation)(**arguments)
        )
        if operation.startswith(("create_", "allocate_")):
            now = time.monotonic()
            names = (str(value) for key, value in arguments.items() if key.endswith("Name"))
            self._seen.update(dict.fromkeys([*_ID.findall(str(answer)), *names], now))
        elif operation.startswith(ENDING):
            for name in _ID.findall(str(arguments)):
                self._seen.pop(name, None)
        return answer

    def has_seen(self, text: str, seconds: float) -> bool:
        """Whether a text names a thing that was made or shown within the last seconds."""
        since = time.monotonic() - seconds
        return any(seen > since and name in text for name, seen in list(self._seen.items()))

    def changed(self, service: str) -> None:
        """Forget what was read of a service before."""
        self._reads.changed([service])

    def _pages(self, service: str, operation: str, arguments: Mapping[str, Any]) -> Any:
        client = self.client(service)
        if client.can_paginate(operation):
            size = _PAGE_SIZES.get(service)
            asked = {**arguments, **({"PaginationConfig": {"PageSize": size}} if size else {})}
            return _answered(
                client,
                operation,
                True,
                lambda: client.get_paginator(operation).paginate(**asked).build_full_result(),
            )
        return _answered(client, operation, True, lambda: getattr(client, operation)(**arguments))

    def _make(self, service: str) -> Any:
        with packages_of("aws", "AWS needs boto3"):
            from botocore.config import Config
            from botocore.exceptions import BotoCoreError

        url = self.settings.endpoint_url
        local = "://127." in url or "://localhost" in url
        try:
            self._session = self._session or self._open()
            if not self._session.region_name:
                raise RunRefused(
                    "no AWS region is set; give aws_region in the inventory, or AWS_REGION"
                )
            return bounded(
                self._session.client(
                    service,
                    endpoint_url=url or None,
                    config=Config(
                        retries={"total_max_attempts": 1, "mode": "standard"},
                        connect_timeout=10,
                        read_timeout=60,
                        max_pool_connections=32,
                        user_agent_extra="playrunner",
                        **({"proxies": {}} if local else {}),
                    ),
                )
            )
        except (BotoCoreError, ValueError) as error:
            raise RunRefused(f"AWS cannot be used: {error}") from None

    def _open(self) -> Any:
        with packages_of("aws", "AWS needs boto3"):
            import boto3
            import botocore.session

        settings = self.settings
        inner = botocore.session.Session(profile=settings.profile or None)
        if settings.credentials_file:
            inner.set_config_variable("credentials_file", settings.credentials_file)
        inner.register_component(
            "data_loader", service_loader(inner.get_config_variable("data_path"))
        )
        return boto3.Session(botocore_session=inner, region_name=settings.region or None)


@cache
def service_loader(data_path: str | None = None) -> Any:
    """The descriptions of services, which take longest of a client to load: read once."""
    from botocore.loaders import create_loader

    return create_loader(data_path)


def _answered(client: Any, operation: str, reads: bool, call: Callable[[], Any]) -> Any:
    """Every call passes here: what botocore cannot parse in an answer is the answer's fault."""
    try:
        answer = call()
    except Exception as error:  # its parsers raise anything on a malformed answer
        if isinstance(error, (*boto_errors(), PlayrunnerError)):
            raise
        raise unreadable(client.meta.service_model.service_name, operation, error) from error
    return checked(client, operation, answer, reads=reads)
