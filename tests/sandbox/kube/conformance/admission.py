"""Admission webhooks."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tests.sandbox.kube.conformance import ApiStage, behaviour, config, refused
from tests.support.kube.client import MERGE_PATCH
from tests.support.kube.webhook import Webhook


@contextmanager
def configured(stage: ApiStage, hook: Webhook, plural: str, **settings: Any) -> Iterator[None]:
    """A webhook for config maps of our namespace, as the server is told of it."""
    api = f"/apis/admissionregistration.k8s.io/v1/{plural}"
    kind = {
        "mutatingwebhookconfigurations": "MutatingWebhookConfiguration",
        "validatingwebhookconfigurations": "ValidatingWebhookConfiguration",
    }[plural]
    stage.api.ok(
        "PATCH",
        f"/api/v1/namespaces/{stage.namespace}",
        {"metadata": {"labels": {"hooked": stage.namespace}}},
        form=MERGE_PATCH,
    )
    webhook = {
        "name": "hook.sandbox.example.com",
        "clientConfig": {"url": hook.url, "caBundle": hook.authority},
        "rules": [
            {
                "operations": ["CREATE", "UPDATE"],
                "apiGroups": [""],
                "apiVersions": ["v1"],
                "resources": ["configmaps"],
            }
        ],
        "namespaceSelector": {"matchLabels": {"hooked": stage.namespace}},
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
        "timeoutSeconds": 5,
        **settings,
    }
    name = f"hook-{stage.namespace}"
    stage.api.ok(
        "POST",
        api,
        {
            "apiVersion": "admissionregistration.k8s.io/v1",
            "kind": kind,
            "metadata": {"name": name},
            "webhooks": [webhook],
        },
    )
    try:
        # A server takes a moment to know of it.
        hook.asked.clear()
        if settings.get("failurePolicy") is None:
            stage.eventually(
                lambda: (
                    stage.api.call("POST", stage.core("configmaps"), config("probe"), dryRun="All")
                    and hook.asked
                )
            )
        yield
    finally:
        stage.api.ok("DELETE", f"{api}/{name}")


@behaviour("a validating webhook is asked, and its refusal is the answer")
def _(stage: ApiStage) -> None:
    with (
        Webhook(allowed=False, message="not today") as hook,
        configured(stage, hook, "validatingwebhookconfigurations"),
    ):
        answer = stage.api.call("POST", stage.core("configmaps"), config("conf", a="1"))
        assert (
            answer.code >= 400
            and 'admission webhook "hook.sandbox.example.com" denied the request: not today'
            in answer.message
        )
        review = hook.asked[-1]["request"]
        assert (
            review["operation"] == "CREATE"
            and review["object"]["data"] == {"a": "1"}
            and review["namespace"] == stage.namespace
        )
        assert (
            stage.api.call(
                "POST",
                stage.core("secrets"),
                {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}},
            ).code
            == 201
        )


@behaviour("a mutating webhook changes what is made")
def _(stage: ApiStage) -> None:
    patch = [{"op": "add", "path": "/data", "value": {"added": "yes"}}]
    with Webhook(patch=patch) as hook, configured(stage, hook, "mutatingwebhookconfigurations"):
        found = stage.api.ok("POST", stage.core("configmaps"), config("conf"))
        assert found["data"] == {"added": "yes"}


@behaviour("a webhook that does not answer refuses everything, where its policy is to fail")
def _(stage: ApiStage) -> None:
    with Webhook() as hook:
        pass  # closed again: nobody listens there now
    with configured(stage, hook, "validatingwebhookconfigurations", failurePolicy="Fail"):
        answer = stage.eventually(lambda: _refusal(stage))
        refused(
            answer,
            500,
            "InternalError",
            'failed calling webhook "hook.sandbox.example.com"',
            "connection refused",
        )


def _refusal(stage: ApiStage) -> Any:
    answer = stage.api.call("POST", stage.core("configmaps"), config("conf"), dryRun="All")
    return answer if answer.code >= 400 else None


@behaviour("a webhook behind a service that has no endpoints is told so")
def _(stage: ApiStage) -> None:
    service = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "hook"},
        "spec": {"ports": [{"port": 443}], "selector": {"a": "b"}},
    }
    stage.api.ok("POST", stage.core("services"), service)
    place = {"service": {"name": "hook", "namespace": stage.namespace, "path": "/validate"}}
    with (
        Webhook() as hook,
        configured(
            stage,
            hook,
            "validatingwebhookconfigurations",
            failurePolicy="Fail",
            clientConfig={**place, "caBundle": hook.authority},
        ),
    ):
        answer = stage.eventually(lambda: _refusal(stage))
        refused(
            answer,
            500,
            "InternalError",
            'failed calling webhook "hook.sandbox.example.com"',
            f"https://hook.{stage.namespace}.svc:443/validate",
        )


@behaviour("a webhook that does not answer is passed over, where its policy is to ignore")
def _(stage: ApiStage) -> None:
    with Webhook() as hook:
        pass
    with configured(stage, hook, "validatingwebhookconfigurations", failurePolicy="Ignore"):
        assert stage.api.call("POST", stage.core("configmaps"), config("conf")).code == 201
