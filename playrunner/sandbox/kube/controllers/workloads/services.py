"""Endpoints: which ready pods are behind a service, as Endpoints and as an EndpointSlice."""

from __future__ import annotations

from collections.abc import Iterable

from playrunner.sandbox.kube.controllers.framework.controller import Controller, Watch, by_itself
from playrunner.sandbox.kube.controllers.framework.controller_context import ControllerContext
from playrunner.sandbox.kube.controllers.framework.pods import is_over, is_ready
from playrunner.sandbox.kube.controllers.framework.resources import (
    ENDPOINTS,
    PODS,
    SERVICES,
    SLICES,
    Key,
    Object,
    is_leaving,
    key_of,
    labels_of,
    owned,
    uid_of,
)  # fmt: skip


class EndpointsController(Controller):
    """Follows services and pods; services without a selector are left alone."""

    name = "endpoints"

    def watches(self) -> Iterable[Watch]:
        return (
            (SERVICES, by_itself),
            (PODS, self._chosen_by),
            (ENDPOINTS, by_itself),
            (SLICES, _named),
        )

    def reconcile(self, key: Key) -> float | None:
        service = self.context.see(SERVICES).get(*key)
        if service is None or is_leaving(service):
            gone = self.context.see(ENDPOINTS).get(*key)
            if gone is not None and service is None and not is_leaving(gone):
                self.context.delete(ENDPOINTS, gone)
            return None
        selector = service["spec"].get("selector")
        if not selector or service["spec"].get("type") == "ExternalName":
            return None
        pods = [
            pod
            for pod in self.context.see(PODS).all(key[0])
            if _matches(selector, pod) and _has_address(pod)
        ]
        self._keep_endpoints(service, pods)
        if self.context.see(SLICES).served:  # servers before 1.21 have none of this version
            self._keep_slice(service, pods)
        return None

    def _chosen_by(self, pod: Object) -> Iterable[Key]:
        services = self.context.see(SERVICES).all(pod["metadata"]["namespace"])
        return [
            key_of(one)
            for one in services
            if one["spec"].get("selector") and _matches(one["spec"]["selector"], pod)
        ]

    def _keep_endpoints(self, service: Object, pods: list[Object]) -> None:
        early = bool(service["spec"].get("publishNotReadyAddresses"))
        ready = [self._address(pod, service) for pod in pods if early or is_ready(pod)]
        waiting = [self._address(pod, service) for pod in pods if not early and not is_ready(pod)]
        ports = [_port(port, pods) for port in service["spec"].get("ports") or ()]
        subset = {"addresses": ready, "notReadyAddresses": waiting, "ports": ports}
        subsets = (
            [{name: value for name, value in subset.items() if value}] if ready or waiting else []
        )
        metadata = {
            "name": service["metadata"]["name"],
            "namespace": service["metadata"]["namespace"],
        }
        known = self.context.see(ENDPOINTS).get(*key_of(service))
        if known is None:
            self.context.create(
                ENDPOINTS,
                {"metadata": {**metadata, "labels": labels_of(service)}, "subsets": subsets},
            )
        elif (known.get("subsets") or []) != subsets:
            self.context.patch(ENDPOINTS, known, {"subsets": subsets})

    def _keep_slice(self, service: Object, pods: list[Object]) -> None:
        early = bool(service["spec"].get("publishNotReadyAddresses"))
        endpoints = [self._endpoint(pod, service, early or is_ready(pod)) for pod in pods]
        ports = [_port(port, pods) for port in service["spec"].get("ports") or ()]
        namespace, name = key_of(service)
        metadata: Object = {
            "name": f"{name}-sandbox", "namespace": namespace, "ownerReferences": owned(service),
            "labels": {**labels_of(service), "kubernetes.io/service-name": name,
                       "endpointslice.kubernetes.io/managed-by": "endpointslice-controller.k8s.io"},
        }  # fmt: skip
        known = self.context.see(SLICES).get(namespace, metadata["name"])
        if known is None:
            self.context.create(
                SLICES,
                {
                    "metadata": metadata,
                    "addressType": "IPv4",
                    "endpoints": endpoints,
                    "ports": ports,
                },
            )
        elif (known.get("endpoints") or []) != endpoints or (known.get("ports") or []) != ports:
            self.context.patch(SLICES, known, {"endpoints": endpoints, "ports": ports})

    def _address(self, pod: Object, service: Object) -> Object:
        address = {
            "ip": shown_address(self.context, pod),
            "nodeName": pod["spec"]["nodeName"],
            "targetRef": _target(pod),
        }
        hostname = _hostname(pod, service)
        return address | ({"hostname": hostname} if hostname else {})

    def _endpoint(self, pod: Object, service: Object, ready: bool) -> Object:
        hostname = _hostname(pod, service)
        return {
            "addresses": [shown_address(self.context, pod)],
            "nodeName": pod["spec"]["nodeName"],
            "targetRef": _target(pod),
            "conditions": {"ready": ready, "serving": ready, "terminating": False},
            **({"hostname": hostname} if hostname else {}),
        }


def shown_address(context: ControllerContext, pod: Object) -> str:
    """A pod's address as endpoints name it: a real API refuses loopback there, so 127.1.2.3 appears
    as 10.1.2.3."""
    address = str(pod["status"]["podIP"])
    return address if context.pretend else "10." + address.partition(".")[2]


def _named(piece: Object) -> Iterable[Key]:
    name = labels_of(piece).get("kubernetes.io/service-name")
    return ((piece["metadata"]["namespace"], name),) if name else ()


def _matches(selector: dict[str, str], pod: Object) -> bool:
    labels = labels_of(pod)
    return all(labels.get(name) == value for name, value in selector.items())


def _has_address(pod: Object) -> bool:
    return bool(pod.get("status", {}).get("podIP")) and not is_over(pod) and not is_leaving(pod)


def _target(pod: Object) -> Object:
    return {
        "kind": "Pod",
        "name": pod["metadata"]["name"],
        "namespace": pod["metadata"]["namespace"],
        "uid": uid_of(pod),
    }


def _hostname(pod: Object, service: Object) -> str:
    """Only pods that say that they belong to this very service have a name of their own in it."""
    return (
        pod["spec"].get("hostname", "")
        if pod["spec"].get("subdomain") == service["metadata"]["name"]
        else ""
    )


def _port(port: Object, pods: list[Object]) -> Object:
    target = port.get("targetPort", port["port"])
    number = target if isinstance(target, int) else _named_port(str(target), pods)
    return {"port": number or port["port"], "protocol": port.get("protocol", "TCP")} | (
        {"name": port["name"]} if port.get("name") else {}
    )


def _named_port(name: str, pods: list[Object]) -> int | None:
    ports = [
        port
        for pod in pods
        for container in pod["spec"]["containers"]
        for port in container.get("ports") or ()
    ]
    return next((port["containerPort"] for port in ports if port.get("name") == name), None)
