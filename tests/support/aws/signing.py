"""Signed and unsigned requests to a pretend AWS."""

from __future__ import annotations

import urllib.error
import urllib.request
from typing import Any

import boto3
from botocore.config import Config

from tests.support.aws.sandbox import PretendAws


def client(
    aws: PretendAws, service: str, key: str, secret: str, token: str | None = None, **config: Any
) -> Any:
    plain = Config(retries={"max_attempts": 0}, proxies={}, **config)
    session = boto3.Session(key, secret, token, region_name="us-west-2")
    return session.client(service, endpoint_url=aws.up.endpoint_url, config=plain)


def sent(
    url: str, data: bytes | None = None, headers: dict[str, str] | None = None, method: str = "GET"
) -> tuple[int, str]:
    """The status and text of one plain request."""
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(
            urllib.request.Request(url, data, headers or {}, method=method), timeout=20
        ) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()
