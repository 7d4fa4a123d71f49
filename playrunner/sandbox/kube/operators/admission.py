"""The operators' webhooks: served over HTTPS on the address of the pod that would serve them, with
a certificate of their own.

As in a cluster, the certificate is in a Secret and its authority in the webhooks' configurations,
both written by the operator; and for a moment after its pod is ready nothing listens yet, so that
jobs submitted too early are refused.
"""

from __future__ import annotations

import base64
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from playrunner.sandbox.kube.controllers.framework.controller import Controller, Watch
from playrunner.sandbox.kube.controllers.framework.pods import condition
from playrunner.sandbox.kube.controllers.framework.resources import (
    DEPLOYMENTS,
    JOBS,
    PODS,
    SECRETS,
    Key,
    Object,
    is_leaving,
    uid_of,
)
from playrunner.sandbox.kube.operators import kubeflow_webhooks
from playrunner.sandbox.kube.operators.installed import (
    JOBSET_MANAGER,
    KUEUE_MANAGER,
    TRAINER_MANAGER,
    TRAINING_OPERATOR,
    VOLCANO_ADMISSION,
    Operator,
)
from playrunner.sandbox.kube.operators.jobset import webhooks as jobset_webhooks
from playrunner.sandbox.kube.operators.kinds import MUTATING_WEBHOOKS, VALIDATING_WEBHOOKS
from playrunner.sandbox.kube.operators.kueue import webhooks as kueue_webhooks
from playrunner.sandbox.kube.operators.listener import Judge, Listener
from playrunner.sandbox.kube.operators.trainer import webhooks as trainer_webhooks
from playrunner.sandbox.kube.operators.volcano import webhooks as volcano_webhooks
from playrunner.sandbox.state import write_file

LISTENS_AFTER_SECONDS = 1.0  # from the moment its pod is ready; a few in a cluster


@dataclass(frozen=True)
class Webhooks:
    """Those of one operator."""

    operator: Operator
    service: str
    port: int
    secret: str
    judges: dict[str, Judge]
    # The Job that makes the Secret; without one the operator fills a Secret that is there
    maker: str = ""

    @property
    def key(self) -> Key:
        return self.operator.namespace, self.operator.deployment


WEBHOOKS = (
    Webhooks(
        VOLCANO_ADMISSION,
        "volcano-admission-service",
        8443,
        "volcano-admission-secret",
        {
            "/jobs/mutate": volcano_webhooks.complete_job,
            "/jobs/validate": volcano_webhooks.judge_job,
            "/podgroups/mutate": volcano_webhooks.complete_pod_group,
            "/queues/mutate": volcano_webhooks.complete_queue,
            "/queues/validate": volcano_webhooks.judge_queue,
        },
        maker="volcano-admission-init",
    ),
    Webhooks(
        TRAINING_OPERATOR,
        "training-operator",
        9443,
        "training-operator-webhook-cert",
        {"/validate-kubeflow-org-v1-pytorchjob": kubeflow_webhooks.judge_pytorch_job},
    ),
    Webhooks(
        JOBSET_MANAGER,
        "jobset-webhook-service",
        9443,
        "jobset-webhook-server-cert",
        {
            "/mutate-jobset-x-k8s-io-v1alpha2-jobset": jobset_webhooks.complete_job_set,
            "/validate-jobset-x-k8s-io-v1alpha2-jobset": jobset_webhooks.judge_job_set,
            "/mutate--v1-pod": jobset_webhooks.pass_pod,
            "/validate--v1-pod": jobset_webhooks.pass_pod,
        },
    ),
    Webhooks(
        TRAINER_MANAGER,
        "kubeflow-trainer-controller-manager",
        9443,
        "kubeflow-trainer-webhook-cert",
        trainer_webhooks.JUDGES,
    ),
    Webhooks(
        KUEUE_MANAGER,
        "kueue-webhook-service",
        9443,
        "kueue-webhook-server-cert",
        kueue_webhooks.JUDGES,
    ),
)


class AdmissionController(Controller):
    """Keeps one listener for each ready pod of an operator that has webhooks."""

    name = "admission"

    def prepare(self) -> None:
        self._listeners: dict[str, tuple[Webhooks, Listener]] = {}  # by the pod's uid
        self._ready_since: dict[str, float] = {}

    def watches(self) -> Iterable[Watch]:
        concerned = (DEPLOYMENTS, PODS, SECRETS, JOBS)
        return (
            *((resource, _by_namespace) for resource in concerned),
            *(
                (resource, lambda one: [each.key for each in WEBHOOKS])
                for resource in (MUTATING_WEBHOOKS, VALIDATING_WEBHOOKS)
            ),
        )

    def reconcile(self, key: Key) -> float | None:
        hooks = next(webhooks for webhooks in WEBHOOKS if webhooks.key == key)
        secret = self._keep_secret(hooks)
        pods = {uid_of(pod): pod for pod in hooks.operator.pods(self.context)} if secret else {}
        for uid in [
            uid
            for uid, (served, _) in self._listeners.items()
            if served == hooks and uid not in pods
        ]:
            self._listeners.pop(uid)[1].stop()
        waits = [self._keep_listener(hooks, secret, pod) for pod in pods.values() if secret]
        if secret and any(uid in self._listeners for uid in pods):
            self._keep_bundles(hooks, secret["data"]["ca.crt"])
        return max((seconds for seconds in waits if seconds), default=None)

    def _keep_secret(self, hooks: Webhooks) -> Object | None:
        """The Secret with the certificate; None while there cannot be one."""
        namespace = hooks.operator.namespace
        known = self.context.see(SECRETS).get(namespace, hooks.secret)
        if known is not None and (is_leaving(known) or (known.get("data") or {}).get("tls.key")):
            return None if is_leaving(known) else known
        if hooks.maker:
            maker = self._maker(namespace, hooks.maker)
            if known is None and maker is not None and condition(maker, "Complete") == "True":
                made = {
                    "metadata": {"name": hooks.secret, "namespace": namespace},
                    "data": self._certificate(hooks),
                }
                return self.context.create(SECRETS, made)
            return None
        if known is not None and hooks.operator.acts(self.context):
            return self.context.patch(SECRETS, known, {"data": self._certificate(hooks)})
        return None

    def _maker(self, namespace: str, name: str) -> Object | None:
        """The newest Job of that name, whatever follows it."""
        jobs = [
            job
            for job in self.context.see(JOBS).all(namespace)
            if str(job["metadata"]["name"]).startswith(name)
        ]
        return max(jobs, key=lambda job: str(job["metadata"]["creationTimestamp"]), default=None)

    def _certificate(self, hooks: Webhooks) -> dict[str, str]:
        from playrunner.sandbox.kube.wire import certificates  # slow to load, and only needed once

        folder = self._folder(hooks)
        domain = f"{hooks.service}.{hooks.operator.namespace}"
        certificates.authority(folder).issue(
            "server", names=(f"{domain}.svc", f"{domain}.svc.cluster.local")
        )
        files = {"ca.crt": "ca.crt", "tls.crt": "server.crt", "tls.key": "server.key"}
        return {
            name: base64.b64encode((folder / file).read_bytes()).decode()
            for name, file in files.items()
        }

    def _folder(self, hooks: Webhooks) -> Path:
        folder = self.context.folder / "webhooks" / hooks.service
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        return folder

    def _keep_listener(self, hooks: Webhooks, secret: Object, pod: Object) -> float | None:
        """Start listening when it is time; else the seconds until then."""
        uid = uid_of(pod)
        address = (pod.get("status") or {}).get("podIP")
        if uid in self._listeners or not address:
            return None
        left = (
            self._ready_since.setdefault(uid, time.monotonic())
            + LISTENS_AFTER_SECONDS
            - time.monotonic()
        )
        if left > 0:
            return left
        folder = self._folder(hooks)
        for name in ("tls.crt", "tls.key"):
            write_file(folder / name, base64.b64decode(secret["data"][name]).decode())
        listener = Listener(self.context, hooks.judges, (address, hooks.port), folder)
        listener.start()
        self._listeners[uid] = hooks, listener
        return None

    def _keep_bundles(self, hooks: Webhooks, bundle: str) -> None:
        for resource in (MUTATING_WEBHOOKS, VALIDATING_WEBHOOKS):
            for one in self.context.see(resource).all():
                trusting = [_with_bundle(each, hooks, bundle) for each in one.get("webhooks") or ()]
                if trusting != (one.get("webhooks") or []) and not is_leaving(one):
                    self.context.patch(resource, one, {"webhooks": trusting})


def _by_namespace(one: Object) -> Iterable[Key]:
    return [
        each.key for each in WEBHOOKS if one["metadata"].get("namespace") == each.operator.namespace
    ]


def _with_bundle(webhook: Object, hooks: Webhooks, bundle: str) -> Object:
    service = webhook["clientConfig"].get("service") or {}
    if (service.get("namespace"), service.get("name")) != (hooks.operator.namespace, hooks.service):
        return webhook
    return {**webhook, "clientConfig": {**webhook["clientConfig"], "caBundle": bundle}}
