"""What the IAM modules share: documents, the ARNs of policies, and who may assume a role."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from playrunner.text.documents import parse_json

if TYPE_CHECKING:
    from playrunner.run.context import Context

MISSING = ("NoSuchEntity", "NoSuchEntityException")
VERSION = "2012-10-17"


def document(statements: Any) -> dict[str, Any]:
    """A policy document: as it is, from JSON text, or around a list of statements."""
    if isinstance(statements, str):
        statements = parse_json(statements, "policy document")
    if isinstance(statements, list):
        return {"Version": VERSION, "Statement": statements}
    return dict(statements)


def written(policy: Mapping[str, Any]) -> str:
    return json.dumps(policy, separators=(",", ":"))


def policy_arns(ctx: Context, names: Iterable[str]) -> list[str]:
    """The ARNs of policies; a bare name is one that AWS manages."""
    return sorted(
        name if name.startswith("arn:") else f"arn:{ctx.aws.partition}:iam::aws:policy/{name}"
        for name in names
    )


def trust_in_services(services: Iterable[str]) -> dict[str, Any]:
    """A trust document for services; the one of pod identity also tags the session with the pod it
    is for."""
    names = list(services)
    action: Any = (
        ["sts:AssumeRole", "sts:TagSession"]
        if "pods.eks.amazonaws.com" in names
        else "sts:AssumeRole"
    )
    principal: Any = names[0] if len(names) == 1 else names
    return document([{"Effect": "Allow", "Principal": {"Service": principal}, "Action": action}])


def trust_in_service_account(
    provider_arn: str, issuer: str, namespace: str, service_account: str
) -> dict[str, Any]:
    """A trust document for the pods of one Kubernetes service account, known by the cluster's OIDC
    issuer."""
    host = without_scheme(issuer)
    return document(
        [
            {
                "Effect": "Allow",
                "Principal": {"Federated": provider_arn},
                "Action": "sts:AssumeRoleWithWebIdentity",
                "Condition": {
                    "StringEquals": {
                        f"{host}:sub": f"system:serviceaccount:{namespace}:{service_account}",
                        f"{host}:aud": "sts.amazonaws.com",
                    }
                },
            }
        ]
    )


def oidc_provider_arn(ctx: Context, issuer: str) -> str:
    return f"arn:{ctx.aws.partition}:iam::{ctx.aws.account}:oidc-provider/{without_scheme(issuer)}"


def without_scheme(url: str) -> str:
    return url.removeprefix("https://").rstrip("/")
