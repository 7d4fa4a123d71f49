"""What a server refuses about built-in objects, beyond their shape."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

from playrunner.sandbox.kube.schema import schema as schemas
from playrunner.sandbox.kube.schema.names import is_subdomain, label_problems
from playrunner.sandbox.kube.schema.problems import (
    Problem,
    duplicate,
    invalid_value,
    required,
    unsupported,
)
from playrunner.sandbox.kube.schema.schema import Schema
from playrunner.sandbox.kube.store.policies.problems import binding_problems, policy_problems
from playrunner.sandbox.kube.store.rules.job_spec import job_problems, job_spec_problems
from playrunner.sandbox.kube.store.rules.pod_rules import pod_spec_problems
from playrunner.sandbox.kube.wire.selectors import by_selector

Object = dict[str, Any]
_DATA_KEY = re.compile(r"[-._a-zA-Z0-9]+")
_CRON = re.compile(
    r"(@(every \S+|yearly|annually|monthly|weekly|daily|midnight|hourly))|(\S+\s+){4}\S+"
)


def rule_problems(type_name: str, obj: Object, schema: Schema) -> list[Problem]:
    """Everything wrong with a built-in object that has its shape and its defaults."""
    rule = _RULES.get(type_name)
    if rule is not None:
        return list(rule(obj))
    return list(
        _missing({name: value for name, value in obj.items() if name != "metadata"}, schema, "")
    )


def _missing(value: Any, schema: Schema, path: str) -> Iterator[Problem]:
    """Fields that the type says are required, where no rule of its own knows better."""
    if isinstance(value, dict):
        for name in schema.get("required", ()):
            if name not in value:
                yield required(f"{path}.{name}" if path else name)
        for name, item in value.items():
            if name not in ("metadata", "status"):
                yield from _missing(
                    item, schemas.field(schema, name) or {}, f"{path}.{name}" if path else name
                )
    elif isinstance(value, list):
        for at, item in enumerate(value):
            yield from _missing(item, schemas.items(schema), f"{path}[{at}]")


def _pod(one: Object) -> Iterator[Problem]:
    yield from pod_spec_problems(one["spec"], "spec")


def _workload(workload: Object) -> Iterator[Problem]:
    spec = workload["spec"]
    if spec.get("replicas", 0) < 0:
        yield invalid_value("spec.replicas", spec["replicas"], "must be greater than or equal to 0")
    selector = spec.get("selector")
    if not selector:
        yield required("spec.selector")
    template = spec.get("template")
    if not template:
        yield required("spec.template")
        return
    labels = template.get("metadata", {}).get("labels") or {}
    if selector == {} or (
        selector and not (selector.get("matchLabels") or selector.get("matchExpressions"))
    ):
        yield invalid_value(
            "spec.selector", selector, f"empty selector is invalid for {workload['kind'].lower()}"
        )
    elif selector and not by_selector(selector)({"metadata": {"labels": labels}}):
        yield invalid_value(
            "spec.template.metadata.labels", labels, "`selector` does not match template `labels`"
        )
    yield from label_problems(labels, "spec.template.metadata.labels")
    claimed = [
        claim["metadata"].get("name", "") for claim in spec.get("volumeClaimTemplates") or ()
    ]
    yield from pod_spec_problems(template["spec"], "spec.template.spec", claimed)
    if template["spec"]["restartPolicy"] != "Always":
        yield unsupported(
            "spec.template.spec.restartPolicy", template["spec"]["restartPolicy"], ["Always"]
        )


def _cron_job(one: Object) -> Iterator[Problem]:
    spec = one["spec"]
    if not spec.get("schedule"):
        yield required("spec.schedule")
    elif not _CRON.fullmatch(spec["schedule"].strip()):
        yield invalid_value("spec.schedule", spec["schedule"], "expected exactly 5 fields")
    if spec["concurrencyPolicy"] not in ("Allow", "Forbid", "Replace"):
        yield unsupported(
            "spec.concurrencyPolicy", spec["concurrencyPolicy"], ["Allow", "Forbid", "Replace"]
        )
    yield from job_spec_problems(
        (spec.get("jobTemplate") or {}).get("spec", {}), "spec.jobTemplate.spec"
    )


def _service(one: Object) -> Iterator[Problem]:
    spec = one["spec"]
    types = ["ClusterIP", "ExternalName", "LoadBalancer", "NodePort"]
    if spec["type"] not in types:
        yield unsupported("spec.type", spec["type"], types)
    if spec["type"] == "ExternalName":
        if not spec.get("externalName"):
            yield required("spec.externalName")
        return
    ports = spec.get("ports", [])
    if not ports and spec.get("clusterIP") != "None":
        yield required("spec.ports")
    seen: set[str] = set()
    for at, port in enumerate(ports):
        path = f"spec.ports[{at}]"
        if len(ports) > 1 and not port.get("name"):
            yield required(f"{path}.name")
        elif port.get("name") in seen:
            yield duplicate(f"{path}.name", port["name"])
        seen.add(port.get("name", ""))
        if not 0 < (port.get("port") or 0) < 65536:
            yield invalid_value(
                f"{path}.port", port.get("port") or 0, "must be between 1 and 65535, inclusive"
            )
        if port["protocol"] not in ("SCTP", "TCP", "UDP"):
            yield unsupported(f"{path}.protocol", port["protocol"], ["SCTP", "TCP", "UDP"])


def _data(one: Object) -> Iterator[Problem]:
    for field in ("data", "binaryData"):
        for key in one.get(field) or {}:
            if len(key) > 253 or not _DATA_KEY.fullmatch(key):
                why = "a valid config key must consist of alphanumeric characters, '-', '_' or '.'"
                yield invalid_value(f"{field}[{key}]", key, why)


def _claim(one: Object) -> Iterator[Problem]:
    spec = one["spec"]
    modes = ["ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"]
    if not spec.get("accessModes"):
        yield required("spec.accessModes", "at least 1 access mode is required")
    for mode in spec.get("accessModes", ()):
        if mode not in modes:
            yield unsupported("spec.accessModes", mode, modes)
    if "storage" not in ((spec.get("resources") or {}).get("requests") or {}):
        yield required("spec.resources[storage]")


def _volume(one: Object) -> Iterator[Problem]:
    spec = one["spec"]
    if not spec.get("accessModes"):
        yield required("spec.accessModes")
    if not spec.get("capacity"):
        yield required("spec.capacity")
    plain = {
        "accessModes",
        "capacity",
        "claimRef",
        "mountOptions",
        "nodeAffinity",
        "persistentVolumeReclaimPolicy",
        "storageClassName",
        "volumeAttributesClassName",
        "volumeMode",
    }
    if not set(spec) - plain:
        yield required("spec", "must specify a volume type")


def _role_binding(binding: Object) -> Iterator[Problem]:
    reference = binding.get("roleRef") or {}
    kinds = ["ClusterRole"] if binding["kind"] == "ClusterRoleBinding" else ["ClusterRole", "Role"]
    if reference.get("kind") not in kinds:
        yield unsupported("roleRef.kind", reference.get("kind", ""), kinds)
    if not reference.get("name"):
        yield required("roleRef.name")
    for at, subject in enumerate(binding.get("subjects", ())):
        if not subject.get("name"):
            yield required(f"subjects[{at}].name")
        if subject.get("kind") == "ServiceAccount" and not subject.get("namespace"):
            yield required(f"subjects[{at}].namespace")


def _role(one: Object) -> Iterator[Problem]:
    for at, rule in enumerate(one.get("rules", ())):
        if not rule.get("verbs"):
            yield required(f"rules[{at}].verbs", "verbs must contain at least one value")
        if not rule.get("nonResourceURLs"):
            if not rule.get("apiGroups"):
                yield required(
                    f"rules[{at}].apiGroups", "resource rules must supply at least one api group"
                )
            if not rule.get("resources"):
                yield required(
                    f"rules[{at}].resources", "resource rules must supply at least one resource"
                )


def _webhooks(one: Object) -> Iterator[Problem]:
    for at, hook in enumerate(one.get("webhooks", ())):
        path = f"webhooks[{at}]"
        if hook.get("name", "").count(".") < 2 or not is_subdomain(hook["name"]):
            yield invalid_value(
                f"{path}.name",
                hook.get("name", ""),
                "should be a domain with at least three segments separated by dots",
            )
        if not hook.get("sideEffects"):
            yield required(f"{path}.sideEffects", "must specify one of None, NoneOnDryRun")
        elif hook["sideEffects"] not in ("None", "NoneOnDryRun"):
            yield unsupported(f"{path}.sideEffects", hook["sideEffects"], ["None", "NoneOnDryRun"])
        if not hook.get("admissionReviewVersions"):
            yield required(f"{path}.admissionReviewVersions", "must specify one of v1, v1beta1")
        config = hook.get("clientConfig") or {}
        if bool(config.get("url")) == bool(config.get("service")):
            yield required(f"{path}.clientConfig", "exactly one of url or service is required")
        if config.get("url") and not config["url"].startswith("https://"):
            yield invalid_value(
                f"{path}.clientConfig.url",
                config["url"].partition(":")[0],
                "'https' is the only allowed URL scheme",
            )


def _node(one: Object) -> Iterator[Problem]:
    for at, taint in enumerate(one.get("spec", {}).get("taints", ())):
        effects = ["NoSchedule", "PreferNoSchedule", "NoExecute"]
        if taint.get("effect") not in effects:
            yield unsupported(f"spec.taints[{at}].effect", taint.get("effect", ""), effects)


_RULES: dict[str, Callable[[Object], Iterator[Problem]]] = {
    "core.v1.Pod": _pod,
    "core.v1.Service": _service,
    "core.v1.ConfigMap": _data,
    "core.v1.Secret": _data,
    "core.v1.PersistentVolume": _volume,
    "core.v1.PersistentVolumeClaim": _claim,
    "core.v1.Node": _node,
    "apps.v1.Deployment": _workload,
    "apps.v1.DaemonSet": _workload,
    "apps.v1.StatefulSet": _workload,
    "apps.v1.ReplicaSet": _workload,
    "batch.v1.Job": job_problems,
    "batch.v1.CronJob": _cron_job,
    "rbac.v1.Role": _role,
    "rbac.v1.ClusterRole": _role,
    "rbac.v1.RoleBinding": _role_binding,
    "rbac.v1.ClusterRoleBinding": _role_binding,
    "admissionregistration.v1.ValidatingAdmissionPolicy": policy_problems,
    "admissionregistration.v1.ValidatingAdmissionPolicyBinding": binding_problems,
    "admissionregistration.v1.MutatingWebhookConfiguration": _webhooks,
    "admissionregistration.v1.ValidatingWebhookConfiguration": _webhooks,
}
