"""The cluster's names inside pods: a file for each pod, as /etc/hosts is, rewritten when pods or
services come and go."""

from __future__ import annotations

import os
import socket
import threading
from pathlib import Path

from playrunner.sandbox.kube.controllers.framework.controller_context import ControllerContext
from playrunner.sandbox.kube.controllers.framework.pods import is_over
from playrunner.sandbox.kube.controllers.framework.resources import (
    ENDPOINTS,
    PODS,
    SERVICES,
    Object,
    key_of,
    uid_of,
)

DOMAIN = "cluster.local"


class Hosts:
    """Shared as `context.the(Hosts)`."""

    def __init__(self, context: ControllerContext) -> None:
        self.context = context
        self._lock = threading.Lock()
        self._members: dict[str, tuple[Object, Path, str]] = {}
        self._written: dict[str, str] = {}
        self._version = 0

    def join(self, pod: Object, file: Path, address: str) -> None:
        """A pod that reads names from this file."""
        with self._lock:
            self._members[uid_of(pod)] = (pod, file, address)
            self._written.pop(uid_of(pod), None)
            self._write(uid_of(pod), names_of(self.context, pod["metadata"]["namespace"]))

    def leave(self, uid: str) -> None:
        with self._lock:
            self._members.pop(uid, None)
            self._written.pop(uid, None)

    def refresh(self) -> None:
        """All files, as things are now."""
        with self._lock:
            texts = {
                namespace: names_of(self.context, namespace)
                for namespace in {
                    pod["metadata"]["namespace"] for pod, _, _ in self._members.values()
                }
            }
            for uid, (pod, _, _) in self._members.items():
                self._write(uid, texts[pod["metadata"]["namespace"]])

    def _write(self, uid: str, names: str) -> None:
        pod, file, address = self._members[uid]
        own = own_names(pod, address)
        text = f"127.0.0.1 localhost\n{address} {own}\n{_aliases(pod)}{names}"
        if self._written.get(uid) == text or not file.parent.is_dir():
            return
        draft = file.with_name(".hosts.new")
        draft.write_text(text)
        # libnss-wrapper looks at whole seconds to see whether a file is new.
        self._version = max(self._version + 1, int(os.stat(draft).st_mtime))
        os.utime(draft, (self._version, self._version))
        draft.replace(file)
        self._written[uid] = text


def own_names(pod: Object, address: str) -> str:
    """What the pod calls itself, and what this machine is called, for those who ask without a
    namespace of their own."""
    name = str(pod["spec"].get("hostname") or pod["metadata"]["name"])[:63]
    subdomain = pod["spec"].get("subdomain")
    full = f"{name}.{subdomain}.{pod['metadata']['namespace']}.svc.{DOMAIN} " if subdomain else ""
    machine = socket.gethostname()
    return f"{full}{name}" + (f" {machine}" if machine != name else "")


def names_of(context: ControllerContext, namespace: str) -> str:
    """Every name of the cluster that can be found from a namespace, short where they are of the
    same one."""
    lines = []
    addresses = {
        uid_of(pod): (pod.get("status") or {}).get("podIP")
        for pod in context.see(PODS).all()
        if not is_over(pod)
    }
    for service in context.see(SERVICES).all():
        within, name = key_of(service)
        endpoints = context.see(ENDPOINTS).get(within, name) or {}
        for subset in endpoints.get("subsets") or ():
            for endpoint in subset.get("addresses") or ():
                address = addresses.get(
                    (endpoint.get("targetRef") or {}).get("uid", ""), endpoint["ip"]
                )
                lines.append(f"{address} {_spelled(name, within, namespace)}")
                if endpoint.get("hostname"):
                    lines.append(
                        f"{address}"
                        f" {_spelled(endpoint['hostname'] + '.' + name, within, namespace)}"
                    )
    return "".join(f"{line}\n" for line in lines)


def _spelled(name: str, within: str, namespace: str) -> str:
    full = f"{name}.{within}.svc.{DOMAIN} {name}.{within}.svc {name}.{within}"
    return f"{full} {name}" if within == namespace else full


def _aliases(pod: Object) -> str:
    return "".join(
        f"{one['ip']} {' '.join(one.get('hostnames') or ())}\n"
        for one in pod["spec"].get("hostAliases") or ()
    )
