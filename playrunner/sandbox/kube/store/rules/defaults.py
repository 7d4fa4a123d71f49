"""What a server fills into a built-in object that does not say it."""

from __future__ import annotations

import base64
from collections.abc import Callable
from typing import Any

from playrunner.sandbox.kube.store.rules.job_defaults import cron_job, job
from playrunner.sandbox.kube.store.rules.pod_defaults import pod_requests, pod_spec

Object = dict[str, Any]


def fill_defaults(kind: str, obj: Object) -> None:
    """In place; a kind that has none is left alone."""
    filler = _FILLERS.get(kind)
    if filler is not None:
        filler(obj)


def new_status(kind: str) -> Object:
    """The status of a built-in object that nothing has happened to yet: numbers are there, and
    zero."""
    counts = {
        "apps.v1.DaemonSet": (
            "currentNumberScheduled",
            "desiredNumberScheduled",
            "numberMisscheduled",
            "numberReady",
        ),
        "apps.v1.StatefulSet": ("replicas",),
        "apps.v1.ReplicaSet": ("replicas",),
        "core.v1.ReplicationController": ("replicas",),
        "policy.v1.PodDisruptionBudget": (
            "currentHealthy",
            "desiredHealthy",
            "disruptionsAllowed",
            "expectedPods",
        ),
    }
    if kind in ("core.v1.Service", "networking.v1.Ingress"):
        return {"loadBalancer": {}}
    return dict.fromkeys(counts.get(kind, ()), 0)


def _pod(obj: Object) -> None:
    spec = obj.setdefault("spec", {})
    pod_spec(spec)
    pod_requests(spec)


def _deployment(obj: Object) -> None:
    spec = _with_template(obj)
    _fill(spec, replicas=1, revisionHistoryLimit=10, progressDeadlineSeconds=600)
    strategy = _part(spec, "strategy")
    _fill(strategy, type="RollingUpdate")
    if strategy["type"] == "RollingUpdate":
        _fill(_part(strategy, "rollingUpdate"), maxUnavailable="25%", maxSurge="25%")


def _daemon_set(obj: Object) -> None:
    spec = _with_template(obj)
    _fill(spec, revisionHistoryLimit=10)
    strategy = _part(spec, "updateStrategy")
    _fill(strategy, type="RollingUpdate")
    if strategy["type"] == "RollingUpdate":
        _fill(_part(strategy, "rollingUpdate"), maxUnavailable=1, maxSurge=0)


def _stateful_set(obj: Object) -> None:
    spec = _with_template(obj)
    _fill(spec, replicas=1, revisionHistoryLimit=10, podManagementPolicy="OrderedReady")
    _fill(
        _part(spec, "persistentVolumeClaimRetentionPolicy"),
        whenDeleted="Retain",
        whenScaled="Retain",
    )
    strategy = _part(spec, "updateStrategy")
    _fill(strategy, type="RollingUpdate")
    if strategy["type"] == "RollingUpdate":
        _fill(_part(strategy, "rollingUpdate"), partition=0)
    for claim in spec.get("volumeClaimTemplates", ()):
        _fill(claim, apiVersion="v1", kind="PersistentVolumeClaim")
        _fill(_part(claim, "spec"), volumeMode="Filesystem")
        _fill(_part(claim, "status"), phase="Pending")


def _replica_set(obj: Object) -> None:
    _fill(_with_template(obj), replicas=1)


def _service(obj: Object) -> None:
    spec = obj.setdefault("spec", {})
    _fill(spec, type="ClusterIP", sessionAffinity="None")
    for port in spec.get("ports", ()):
        _fill(port, protocol="TCP")
        _fill(port, targetPort=port.get("port"))
    if spec["type"] != "ExternalName":
        _fill(
            spec, internalTrafficPolicy="Cluster", ipFamilies=["IPv4"], ipFamilyPolicy="SingleStack"
        )
    if spec["type"] in ("NodePort", "LoadBalancer"):
        _fill(spec, externalTrafficPolicy="Cluster")
    if spec["type"] == "LoadBalancer":
        _fill(spec, allocateLoadBalancerNodePorts=True)


def _secret(obj: Object) -> None:
    _fill(obj, type="Opaque")
    plain = obj.pop("stringData", None)
    if plain:
        encoded = {name: base64.b64encode(text.encode()).decode() for name, text in plain.items()}
        obj["data"] = {**obj.get("data", {}), **encoded}


def _namespace(namespace: Object) -> None:
    _part(namespace, "spec").setdefault("finalizers", ["kubernetes"])
    _fill(_part(namespace, "status"), phase="Active")
    if namespace["metadata"].get("name"):
        namespace["metadata"]["labels"] = {
            **(namespace["metadata"].get("labels") or {}),
            "kubernetes.io/metadata.name": namespace["metadata"]["name"],
        }


def _claim(obj: Object) -> None:
    _fill(_part(obj, "spec"), volumeMode="Filesystem")
    _fill(_part(obj, "status"), phase="Pending")


def _volume(obj: Object) -> None:
    _fill(_part(obj, "spec"), persistentVolumeReclaimPolicy="Retain", volumeMode="Filesystem")
    _fill(_part(obj, "status"), phase="Pending")


def _storage_class(obj: Object) -> None:
    _fill(obj, reclaimPolicy="Delete", volumeBindingMode="Immediate")


def _csi_driver(obj: Object) -> None:
    spec = _part(obj, "spec")
    _fill(
        spec,
        attachRequired=True,
        podInfoOnMount=False,
        volumeLifecycleModes=["Persistent"],
        storageCapacity=False,
    )
    _fill(
        spec, fsGroupPolicy="ReadWriteOnceWithFSType", requiresRepublish=False, seLinuxMount=False
    )


def _binding(obj: Object) -> None:
    if isinstance(obj.get("roleRef"), dict):
        _fill(obj["roleRef"], apiGroup="rbac.authorization.k8s.io")
    for subject in obj.get("subjects", ()):
        if subject.get("kind") in ("User", "Group"):
            _fill(subject, apiGroup="rbac.authorization.k8s.io")


def _webhooks(configuration: Object) -> None:
    for hook in configuration.get("webhooks", ()):
        _fill(
            hook,
            failurePolicy="Fail",
            matchPolicy="Equivalent",
            timeoutSeconds=10,
            namespaceSelector={},
            objectSelector={},
        )
        if configuration["kind"].startswith("Mutating"):
            _fill(hook, reinvocationPolicy="Never")
        for rule in hook.get("rules", ()):
            _fill(rule, scope="*")
        service = (hook.get("clientConfig") or {}).get("service")
        if service:
            _fill(service, port=443)


def _policy(obj: Object) -> None:
    _fill(_part(obj, "spec"), failurePolicy="Fail")
    _match_resources(obj["spec"].get("matchConstraints"))


def _policy_binding(obj: Object) -> None:
    _match_resources((obj.get("spec") or {}).get("matchResources"))


def _match_resources(match: Object | None) -> None:
    if match is not None:
        _fill(match, matchPolicy="Equivalent", namespaceSelector={}, objectSelector={})
        for rule in [*match.get("resourceRules", ()), *match.get("excludeResourceRules", ())]:
            _fill(rule, scope="*")


def _definition(obj: Object) -> None:
    spec = _part(obj, "spec")
    names = _part(spec, "names")
    kind = str(names.get("kind", ""))
    _fill(names, singular=kind.lower(), listKind=f"{kind}List")
    _fill(_part(spec, "conversion"), strategy="None")


def _endpoints(obj: Object) -> None:
    for subset in obj.get("subsets", ()):
        for port in subset.get("ports", ()):
            _fill(port, protocol="TCP")


def _network_policy(obj: Object) -> None:
    spec = _part(obj, "spec")
    _fill(spec, policyTypes=["Ingress", "Egress"] if spec.get("egress") else ["Ingress"])
    for rule in [*spec.get("ingress", ()), *spec.get("egress", ())]:
        for port in rule.get("ports", ()):
            _fill(port, protocol="TCP")


def _with_template(obj: Object) -> Object:
    spec: Object = obj.setdefault("spec", {})
    if isinstance(spec.get("template"), dict):
        pod_spec(_part(spec["template"], "spec"))
    return spec


def _part(holder: Object, name: str) -> Object:
    if not isinstance(holder.get(name), dict):
        holder[name] = {}
    found: Object = holder[name]
    return found


def _fill(part: Object, **values: Any) -> None:
    for name, value in values.items():
        if part.get(name) is None:
            part[name] = value


_FILLERS: dict[str, Callable[[Object], None]] = {
    "core.v1.Pod": _pod,
    "core.v1.Service": _service,
    "core.v1.Secret": _secret,
    "core.v1.Namespace": _namespace,
    "core.v1.Node": lambda one: one.setdefault("spec", {}),
    "core.v1.PersistentVolume": _volume,
    "core.v1.PersistentVolumeClaim": _claim,
    "core.v1.ReplicationController": _replica_set,
    "core.v1.Endpoints": _endpoints,
    "apps.v1.Deployment": _deployment,
    "apps.v1.DaemonSet": _daemon_set,
    "apps.v1.StatefulSet": _stateful_set,
    "apps.v1.ReplicaSet": _replica_set,
    "batch.v1.Job": job,
    "batch.v1.CronJob": cron_job,
    "rbac.v1.RoleBinding": _binding,
    "rbac.v1.ClusterRoleBinding": _binding,
    "storage.v1.StorageClass": _storage_class,
    "storage.v1.CSIDriver": _csi_driver,
    "scheduling.v1.PriorityClass": lambda one: _fill(one, preemptionPolicy="PreemptLowerPriority"),
    "networking.v1.NetworkPolicy": _network_policy,
    "admissionregistration.v1.ValidatingAdmissionPolicy": _policy,
    "admissionregistration.v1.ValidatingAdmissionPolicyBinding": _policy_binding,
    "admissionregistration.v1.MutatingWebhookConfiguration": _webhooks,
    "admissionregistration.v1.ValidatingWebhookConfiguration": _webhooks,
    "apiextensions.v1.CustomResourceDefinition": _definition,
}
