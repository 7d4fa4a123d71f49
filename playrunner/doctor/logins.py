"""Checks the logins to the inventory's clouds and cluster with a real request, and the clock by
their answers."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from dataclasses import field
from email.utils import parsedate_to_datetime
from pathlib import Path

from playrunner.cloud.resource import Refused, Unanswered
from playrunner.doctor.finding import Finding
from playrunner.doctor.purposes import Purposes
from playrunner.errors import BadInput, HostUnreachable
from playrunner.frozen import mutable
from playrunner.project import program
from playrunner.variables.scope import Scope

# Signatures of requests are refused after five minutes, tokens a little earlier
MOST_SKEW_SECONDS = 60.0
ADC = "~/.config/gcloud/application_default_credentials.json"

Value = Callable[[str], str]


@mutable
class ClockSkews:
    """By service, how far its clock is from this machine's."""

    skews: dict[str, float] = field(default_factory=dict)

    def add(self, service: str, headers: Mapping[str, str] | None) -> None:
        date = {name.lower(): value for name, value in (headers or {}).items()}.get("date", "")
        try:
            self.skews[service] = parsedate_to_datetime(date).timestamp() - time.time()
        except (ValueError, OverflowError, TypeError):
            pass  # no date header, or not in HTTP's format


def examine(
    purposes: Purposes, value: Value, scope: Scope, clock_skews: ClockSkews
) -> list[Finding]:
    findings = []
    if "aws" in purposes:
        findings.append(_aws(value, purposes["aws"], clock_skews))
    if "gcp" in purposes:
        findings.append(_gcp(value, purposes["gcp"]))
    if "kubernetes" in purposes:
        findings.append(_kubernetes(value, scope, purposes["kubernetes"], clock_skews))
    return findings


def secrets(value: Value, purposes: Purposes) -> list[Path]:
    """Existing files with credentials, which other users should not be able to read."""
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


def clock(clock_skews: ClockSkews) -> list[Finding]:
    """One finding for each service that answered."""
    return [
        Finding(
            f"clock in sync with {service}",
            abs(skew) <= MOST_SKEW_SECONDS,
            f"off by {abs(skew):.0f} s",
            fix="start a time service: sudo timedatectl set-ntp true",
        )
        for service, skew in clock_skews.skews.items()
    ]


def _aws(value: Value, roles: tuple[str, ...], clock_skews: ClockSkews) -> Finding:
    from playrunner.aws.client import Account, Aws, settings_of

    what = "AWS login"
    account = Account(settings_of(value))
    profile = f" --profile {value('aws_profile')}" if value("aws_profile") else ""
    try:
        identity = Aws(account, sleep=lambda seconds: None).read("sts", "get_caller_identity")
        arn = identity["Arn"]
    except HostUnreachable as error:
        return Finding(
            what,
            False,
            str(error),
            roles,
            "check this machine's network and proxy, and aws_endpoint_url",
        )
    except (BadInput, Refused, Unanswered) as error:
        return Finding(
            what,
            False,
            str(error),
            roles,
            f"aws configure{profile} (or aws sso login{profile}), and set aws_region",
        )
    clock_skews.add("AWS", identity.get("ResponseMetadata", {}).get("HTTPHeaders"))
    return Finding(what, True, f"{arn} in {account.region}", roles)


def _gcp(value: Value, roles: tuple[str, ...]) -> Finding:
    """Only whether there are credentials; the roles' own preflight checks what they allow."""
    from playrunner.gcp.credentials import find
    from playrunner.gcp.settings import settings_of

    what = "Google Cloud login"
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


def _kubernetes(
    value: Value, scope: Scope, roles: tuple[str, ...], clock_skews: ClockSkews
) -> Finding:
    from playrunner.kube.client import answers
    from playrunner.kube.client.config import open_transport, settings_of
    from playrunner.kube.client.transport import NoAnswer, NotReached

    what = "Kubernetes API"
    fix = (
        "set the variable kubeconfig (or $KUBECONFIG);"
        f" {program()} eks.create and gke.create write one"
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
            "check that the cluster is up; one that is reachable only from inside its network needs"
            " kube_via",
        )
    if status in (401, 403):
        return Finding(
            what,
            False,
            f"{transport.access.server} answers {status} to"
            f" {transport.access.user or 'an anonymous user'}",
            roles,
            f"log in again, or get an access entry ({program()} eks.create with eks_access)",
        )
    clock_skews.add("the cluster", dict(headers.items()))
    return Finding(what, True, f"{transport.access.server} ({transport.access.name})", roles)
