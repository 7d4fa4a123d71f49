"""Admission policies: the cluster's own rules, in expressions."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tests.sandbox.kube.conformance import ApiStage, behaviour, config, deployment, refused
from tests.support.kube.client import MERGE_PATCH, Answer

SINCE = 30  # the minor version since which servers have them by default
GROUP = "/apis/admissionregistration.k8s.io/v1"
POLICIES = f"{GROUP}/validatingadmissionpolicies"
BINDINGS = f"{GROUP}/validatingadmissionpolicybindings"
CONFIG_MAPS = {
    "apiGroups": [""],
    "apiVersions": ["v1"],
    "operations": ["CREATE", "UPDATE"],
    "resources": ["configmaps"],
}
DEPLOYMENTS = {**CONFIG_MAPS, "apiGroups": ["apps"], "resources": ["deployments"]}


def policy(name: str, *validations: dict[str, str], **spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingAdmissionPolicy",
        "metadata": {"name": name},
        "spec": {
            "matchConstraints": {"resourceRules": [CONFIG_MAPS]},
            "validations": list(validations),
            **spec,
        },
    }


@contextmanager
def bound(stage: ApiStage, body: dict[str, Any], *actions: str) -> Iterator[str]:
    """The policy, in force for our namespace; a server takes a moment to know of it. The name of
    both is given."""
    name = body["metadata"]["name"]
    label = {"metadata": {"labels": {"ruled": stage.namespace}}}
    stage.api.ok("PATCH", f"/api/v1/namespaces/{stage.namespace}", label, form=MERGE_PATCH)
    stage.api.ok("POST", POLICIES, body)
    here = {"namespaceSelector": {"matchLabels": {"ruled": stage.namespace}}}
    binding = {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingAdmissionPolicyBinding",
        "metadata": {"name": name},
        "spec": {
            "policyName": name,
            "validationActions": list(actions or ("Deny",)),
            "matchResources": here,
        },
    }
    stage.api.ok("POST", BINDINGS, binding)
    try:
        stage.eventually(lambda: _noticed(_tried(stage, "probe", wrong="yes")))
        yield name
    finally:
        stage.api.ok("DELETE", f"{BINDINGS}/{name}")
        stage.api.ok("DELETE", f"{POLICIES}/{name}")
    stage.eventually(lambda: not _noticed(_tried(stage, "probe", wrong="yes")))


def _tried(stage: ApiStage, name: str, **data: str) -> Answer:
    body = config(name, **data)
    return stage.api.call("POST", stage.core("configmaps"), body, dryRun="All")


def _noticed(answer: Answer) -> bool:
    return answer.code >= 400 or "Warning" in answer.headers


@behaviour("a policy refuses in its own words, dry runs as well", since=SINCE)
def _(stage: ApiStage) -> None:
    rule = {
        "expression": "!has(object.data) || !('wrong' in object.data)",
        "message": "no wrong data here",
    }
    with bound(stage, policy(f"rule-{stage.namespace}", rule)) as name:
        answer = stage.api.call("POST", stage.core("configmaps"), config("bad", wrong="yes"))
        refused(
            answer,
            422,
            "Invalid",
            f"ValidatingAdmissionPolicy '{name}' with binding '{name}' denied request: no wrong"
            " data here",
        )
        assert answer.message.startswith('configmaps "bad" is forbidden: '), answer.message
        answer = stage.apply(
            stage.core("configmaps", "bad"), config("bad", wrong="yes"), "one", dryRun="All"
        )
        refused(answer, 422, "Invalid", "no wrong data here")
        stage.api.ok("POST", stage.core("configmaps"), config("good", right="yes"))
        patch = {"data": {"wrong": "yes"}}
        answer = stage.api.call("PATCH", stage.core("configmaps", "good"), patch, form=MERGE_PATCH)
        refused(answer, 422, "Invalid", "no wrong data here")


@behaviour("a policy without words of its own shows its expression, or computes words", since=SINCE)
def _(stage: ApiStage) -> None:
    plain = {"expression": "!('wrong' in object.data)", "reason": "Forbidden"}
    body = policy(f"plain-{stage.namespace}", plain)
    with bound(stage, body):
        answer = _tried(stage, "x", wrong="yes")
        refused(
            answer, 403, "Forbidden", "denied request: failed expression: !('wrong' in object.data)"
        )
    computed = {
        "expression": "object.metadata.name.startsWith('ok-')",
        "messageExpression": "'the name ' + object.metadata.name + ' of ' + request.namespace",
    }
    with bound(stage, policy(f"computed-{stage.namespace}", computed)):
        answer = _tried(stage, "x")
        refused(answer, 422, "Invalid", f"denied request: the name x of {stage.namespace}")
        assert _tried(stage, "ok-x").code == 201


@behaviour("a policy may only warn", since=SINCE)
def _(stage: ApiStage) -> None:
    rule = {"expression": "!('wrong' in object.data)", "message": "think again"}
    with bound(stage, policy(f"warns-{stage.namespace}", rule), "Warn") as name:
        answer = _tried(stage, "x", wrong="yes")
        assert answer.code == 201, answer.message
        assert (
            f"Validation failed for ValidatingAdmissionPolicy '{name}' with binding '{name}': think"
            " again" in answer.headers["Warning"]
        )
        assert "Warning" not in _tried(stage, "x", right="yes").headers


@behaviour("an expression that fails refuses, where the policy is to fail", since=SINCE)
def _(stage: ApiStage) -> None:
    rule = {"expression": "object.data.size == 'small'"}
    body = policy(f"fails-{stage.namespace}", rule)
    with bound(stage, body):
        answer = _tried(stage, "x", colour="red")
        refused(
            answer,
            422,
            "Invalid",
            "expression 'object.data.size == 'small'' resulted in error: no such key: size",
        )
        assert _tried(stage, "x", size="small").code == 201
    wrong = {"expression": "!('wrong' in object.data)"}
    body = policy(f"ignores-{stage.namespace}", rule, wrong, failurePolicy="Ignore")
    with bound(stage, body):
        assert _tried(stage, "x", colour="red").code == 201


@behaviour("a policy has conditions, variables and macros", since=SINCE)
def _(stage: ApiStage) -> None:
    container = "object.spec.template.spec.containers"
    body = policy(
        f"images-{stage.namespace}",
        {
            "expression": "variables.containers.all(c, c.image.contains('@') ||"
            " c.image.matches(':[0-9.]+$'))",
            "message": "images have versions",
        },
        {"expression": "object.spec.replicas <= 5", "message": "five are enough"},
        {"expression": f"{container}.exists(c, c.name == 'main') ? true : size({container}) > 9"},
        matchConstraints={"resourceRules": [DEPLOYMENTS, CONFIG_MAPS]},
        matchConditions=[
            {"name": "work", "expression": "has(object.spec) || 'wrong' in object.data"}
        ],
        variables=[{"name": "containers", "expression": container}],
    )
    with bound(stage, body):

        def tried(**more: Any) -> Answer:
            made = deployment(**more)
            return stage.api.call("POST", stage.apps("deployments"), made, dryRun="All")

        assert tried().code == 201
        refused(tried(image="nginx:latest"), 422, "Invalid", "images have versions")
        refused(tried(replicas=6), 422, "Invalid", "five are enough")
        assert _tried(stage, "x", right="yes").code == 201, "its conditions leave that out"


@behaviour("a policy that is bound nowhere refuses nothing", since=SINCE)
def _(stage: ApiStage) -> None:
    name = f"loose-{stage.namespace}"
    stage.api.ok("POST", POLICIES, policy(name, {"expression": "false"}))
    try:
        assert _tried(stage, "x").code == 201
    finally:
        stage.api.ok("DELETE", f"{POLICIES}/{name}")


@behaviour("an expression that cannot be compiled is refused with its policy", since=SINCE)
def _(stage: ApiStage) -> None:
    for expression in ("object.data.", "nothing.here == 1", "object.data == ("):
        body = policy(f"broken-{stage.namespace}", {"expression": expression})
        refused(
            stage.api.call("POST", POLICIES, body),
            422,
            "Invalid",
            "spec.validations[0].expression: Invalid value",
            "compilation failed: ERROR: <input>:1:",
        )
    body = policy(f"broken-{stage.namespace}")
    refused(
        stage.api.call("POST", POLICIES, body), 422, "Invalid", "spec.validations: Required value"
    )
