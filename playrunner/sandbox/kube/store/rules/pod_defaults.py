"""What a server fills into a pod that does not say it."""

from __future__ import annotations

from typing import Any

Part = dict[str, Any]


def pod_spec(spec: Part) -> None:
    """Fill in a pod's spec, in place; for pods and for every template of one."""
    _fill(spec, restartPolicy="Always", dnsPolicy="ClusterFirst", terminationGracePeriodSeconds=30)
    _fill(spec, securityContext={}, schedulerName="default-scheduler")
    if spec.get("serviceAccountName"):
        spec["serviceAccount"] = spec["serviceAccountName"]
    elif spec.get("serviceAccount"):
        spec["serviceAccountName"] = spec["serviceAccount"]
    for container in [*spec.get("initContainers", ()), *spec.get("containers", ())]:
        _container(container, host_network=bool(spec.get("hostNetwork")))
    for volume in spec.get("volumes", ()):
        _volume(volume)


def pod_requests(spec: Part) -> None:
    """What is limited but not requested is requested at its limit; on pods themselves, not on
    templates."""
    for container in [*spec.get("initContainers", ()), *spec.get("containers", ())]:
        resources = container.get("resources") or {}
        if resources.get("limits"):
            resources["requests"] = {**resources["limits"], **resources.get("requests", {})}
    _fill(spec, enableServiceLinks=True)


def _container(container: Part, *, host_network: bool) -> None:
    image = str(container.get("image", ""))
    tag = image.rpartition("/")[2].partition("@")[0].partition(":")[2]
    floating = "@" not in image and tag in ("", "latest")
    _fill(container, imagePullPolicy="Always" if floating else "IfNotPresent", resources={})
    _fill(container, terminationMessagePath="/dev/termination-log", terminationMessagePolicy="File")
    for port in container.get("ports", ()):
        _fill(port, protocol="TCP")
        if host_network and "containerPort" in port:
            _fill(port, hostPort=port["containerPort"])
    for name in ("livenessProbe", "readinessProbe", "startupProbe"):
        if isinstance(container.get(name), dict):
            _probe(container[name])
    for hook in (container.get("lifecycle") or {}).values():
        if isinstance(hook, dict):
            _http_get(hook)
    for variable in container.get("env", ()):
        _field_reference(variable.get("valueFrom") or {})


def _probe(probe: Part) -> None:
    _fill(probe, timeoutSeconds=1, periodSeconds=10, successThreshold=1, failureThreshold=3)
    _http_get(probe)
    if isinstance(probe.get("grpc"), dict):
        _fill(probe["grpc"], service="")


def _http_get(holder: Part) -> None:
    if isinstance(holder.get("httpGet"), dict):
        _fill(holder["httpGet"], path="/", scheme="HTTP")


def _volume(volume: Part) -> None:
    if set(volume) <= {"name"}:
        volume["emptyDir"] = {}
    for name in ("secret", "configMap", "downwardAPI", "projected"):
        if isinstance(volume.get(name), dict):
            _fill(volume[name], defaultMode=0o644)
    if isinstance(volume.get("hostPath"), dict):
        _fill(volume["hostPath"], type="")
    for item in (volume.get("downwardAPI") or {}).get("items", ()):
        _field_reference(item)
    for source in (volume.get("projected") or {}).get("sources", ()):
        if "serviceAccountToken" in source:
            _fill(source["serviceAccountToken"], expirationSeconds=3600)
        for item in (source.get("downwardAPI") or {}).get("items", ()):
            _field_reference(item)


def _field_reference(holder: Part) -> None:
    if isinstance(holder.get("fieldRef"), dict):
        _fill(holder["fieldRef"], apiVersion="v1")


def _fill(part: Part, **values: Any) -> None:
    for name, value in values.items():
        if part.get(name) is None:
            part[name] = value
