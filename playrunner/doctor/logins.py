"""Logins: whether clouds and the cluster of the inventory let this machine in, asked of them; and
whose clock is wrong."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from pathlib import Path

from playrunner.cloud.resource import Refused, Unanswered
from playrunner.doctor.finding import Finding
from playrunner.doctor.purposes import Purposes
from playrunner.errors import BadInput, HostUnreachable
from playrunner.variables.scope import Scope

# Signatures of requests are refused after five minutes, tokens a little earlier
MOST_SKEW_SECONDS = 60.0
ADC = "~/.config/gcloud/application_default_credentials.json"

Value = Callable[[str], str]


@dataclass
class Heard:
    """What was found out on the way: how far each side's clock is from this one."""

    skews: dict[str, float] = field(default_factory=dict)

    def date(self, who: str, headers: Mapping[str, str] | None) -> None:
        said = {name.lower(): value for name, value in (headers or {}).items()}.get("date", "")
        try:
            self.skews[who] = parsedate_to_datetime(said).timestamp() - time.time()
        except (ValueError, OverflowError, TypeError):
            pass  # it says no date, or not as HTTP does


def examine(purposes: Purposes, value: Value, scope: Scope, heard: Heard) -> list[Finding]:
    found = []
    if "aws" in purposes:
        found.append(_aws(value, purposes["aws"], heard))
    if "gcp" in purposes:
        found.append(_gcp(value, purposes["gcp"]))
    if "kubernetes" in purposes:
        found.append(_kubernetes(value, scope, purposes["kubernetes"], heard))
    return found


def secrets(value: Value, purposes: Purposes) -> list[Path]:
    """Files with credentials that are there, and that others should not read."""
    named = []
    if "kubernetes" in purposes:
        listed = value("kubeconfig") or os.environ.get("KUBECONFIG", "") or "~/.kube/config"
        named += listed.split(os.pathsep)
    if "aws" in purposes:
        named.append(
            value("aws_credentials_file")
            or os.environ.get("AWS_SHARED_CREDENTIALS_FILE", "~/.aws/credentials")
        )
    if "gcp" in purposes:
        named.append(_gcp_file(value))
    paths = (Path(name).expanduser() for name in named if name)
    return [path for path in paths if path.is_file()]


def clock(heard: Heard) -> list[Finding]:
    """Judged by whoever answered; nobody did: nothing is said."""
    return [
        Finding(
            f"a clock that agrees with {who}",
            abs(skew) <= MOST_SKEW_SECONDS,
            f"{abs(skew):.0f} s away",
            fix="start a time service: sudo timedatectl set-ntp true",
        )
        for who, skew in heard.skews.items()
    ]


def _aws(value: Value, roles: tuple[str, ...], heard: Heard) -> Finding:
    from playrunner.aws.client import Account, Aws, settings_of

    what = "a login to AWS"
    account = Account(settings_of(value))
    profile = f" --profile {value('aws_profile')}" if value("aws_profile") else ""
    try:
        said = Aws(account, sleep=lambda seconds: None).read("sts", "get_caller_identity")
        who = said["Arn"]
    except HostUnreachable as error:
        return Finding(
            what,
            False,
            str(error),
            roles,
            "look at this machine's network and proxy, and at aws_endpoint_url",
        )
    except (BadInput, Refused, Unanswered) as error:
        return Finding(
            what,
            False,
            str(error),
            roles,
            f"aws configure{profile} (or aws sso login{profile}), and set aws_region",
        )
    heard.date("AWS", said.get("ResponseMetadata", {}).get("HTTPHeaders"))
    return Finding(what, True, f"{who} in {account.region}", roles)


def _gcp(value: Value, roles: tuple[str, ...]) -> Finding:
    """Only whether there are credentials: what they are good for is the business of the roles' own
    checks."""
    from playrunner.gcp.credentials import find
    from playrunner.gcp.settings import settings_of

    what = "a login to Google Cloud"
    settings = settings_of(value)
    try:
        _, project = find(settings)
    except BadInput as error:
        return Finding(what, False, str(error), roles, "gcloud auth application-default login")
    if not settings.project and not project:
        return Finding(what, False, "no project is set", roles, "set gcp_project in the inventory")
    return Finding(what, True, f"project {settings.project or project}", roles)


def _gcp_file(value: Value) -> str:
    return (
        value("gcp_credentials_file") or os.environ.get("GOOGLE_APPLICATION_CREDENTIALS", "") or ADC
    )


def _kubernetes(value: Value, scope: Scope, roles: tuple[str, ...], heard: Heard) -> Finding:
    from playrunner.kube.client import answers
    from playrunner.kube.client.config import settings_of
    from playrunner.kube.client.open import open_transport
    from playrunner.kube.client.transport import NoAnswer, NotReached

    what = "a Kubernetes API that answers"
    fix = (
        "name a kubeconfig with the variable kubeconfig (or $KUBECONFIG); invoke eks.create and"
        " gke.create write one"
    )
    try:
        transport = open_transport(settings_of(value), scope)
        status, headers, data = transport.send("GET", "/version", {})
        if status == 200:
            answers.version(data, transport.source("/version"), headers.get("Content-Type") or "")
    except BadInput as error:
        return Finding(what, False, str(error), roles, fix)
    except (NotReached, NoAnswer, HostUnreachable) as error:
        return Finding(
            what,
            False,
            str(error),
            roles,
            "look whether the cluster is up; one that is only reached from inside its network needs"
            " kube_via",
        )
    if status in (401, 403):
        return Finding(
            what,
            False,
            f"{transport.access.server} answers {status} to {transport.access.user or 'nobody'}",
            roles,
            "log in again, or have an access entry made for you (invoke eks.create with"
            " eks_access)",
        )
    heard.date("the cluster", dict(headers.items()))
    return Finding(what, True, f"{transport.access.server} ({transport.access.name})", roles)
