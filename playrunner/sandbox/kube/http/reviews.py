"""Questions that leave nothing behind: may I, and who am I. Here everybody who is known may do
everything."""

from __future__ import annotations

from typing import Any

from playrunner.sandbox.kube.http.authentication import Authentication
from playrunner.sandbox.kube.schema.kinds import Kind
from playrunner.sandbox.kube.schema.problems import bad_request, method_not_allowed
from playrunner.sandbox.kube.store.webhooks import USER
from playrunner.sandbox.kube.wire.messages import Reply, Request


def answer(kind: Kind, request: Request, authentication: Authentication) -> Reply:
    if request.method != "POST":
        raise method_not_allowed()
    body = request.document()
    if not isinstance(body, dict):
        raise bad_request(f"the body must be a {kind.kind}")
    everything = {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}
    status = {
        "SelfSubjectRulesReview": {
            "resourceRules": [everything],
            "nonResourceRules": [],
            "incomplete": False,
        },
        "TokenReview": _token_status(body, authentication),
        "SelfSubjectReview": {"userInfo": USER},
    }.get(kind.kind, {"allowed": True, "reason": "the sandbox allows everything"})
    return Reply(
        {
            **body,
            "kind": kind.kind,
            "apiVersion": kind.api_version,
            "metadata": body.get("metadata") or {},
            "status": status,
        },
        201,
    )


def _token_status(body: dict[str, Any], authentication: Authentication) -> dict[str, Any]:
    known = authentication.knows_token(str((body.get("spec") or {}).get("token", "")))
    return (
        {"authenticated": True, "user": USER}
        if known
        else {"authenticated": False, "error": "the token is not known here"}
    )
