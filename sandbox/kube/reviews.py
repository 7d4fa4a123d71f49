"""Questions that leave nothing behind: may I, and who am I. Here everybody with the token may do everything."""

from __future__ import annotations

from sandbox.kube.kinds import Kind
from sandbox.kube.messages import Reply, Request
from sandbox.kube.problems import bad_request, method_not_allowed
from sandbox.kube.webhooks import USER


def answer(kind: Kind, request: Request) -> Reply:
    if request.method != "POST":
        raise method_not_allowed()
    body = request.document()
    if not isinstance(body, dict):
        raise bad_request(f"the body must be a {kind.kind}")
    everything = {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}
    status = {
        "SelfSubjectRulesReview": {"resourceRules": [everything], "nonResourceRules": [], "incomplete": False},
        "TokenReview": {"authenticated": True, "user": USER},
        "SelfSubjectReview": {"userInfo": USER},
    }.get(kind.kind, {"allowed": True, "reason": "the sandbox allows everything"})
    return Reply(
        {**body, "kind": kind.kind, "apiVersion": kind.api_version, "metadata": body.get("metadata") or {}, "status": status}, 201
    )
