"""DaemonSets: one pod on every node that fits its selector and taints; zero pods is
valid."""

from __future__ import annotations

from collections.abc import Iterable

from playrunner.sandbox.kube.controllers.framework.controller import (
    Controller,
    Watch,
    by_itself,
    by_owner,
)
from playrunner.sandbox.kube.controllers.framework.pods import is_over, is_ready
from playrunner.sandbox.kube.controllers.framework.resources import (
    DAEMON_SETS,
    NODES,
    PODS,
    Key,
    Object,
    is_leaving,
    key_of,
    labels_of,
    uid_of,
)
from playrunner.sandbox.kube.controllers.scheduling.fit import matches_affinity, tolerates
from playrunner.sandbox.kube.controllers.workloads.deployments import template_hash
from playrunner.sandbox.kube.controllers.workloads.replicas import create_pod, suffix

HASH = "controller-revision-hash"
_STAYS = ("not-ready", "unreachable")
_COMES_ANYWAY = ("disk-pressure", "memory-pressure", "pid-pressure", "unschedulable")


class DaemonSetController(Controller):
    name = "daemonsets"

    def watches(self) -> Iterable[Watch]:
        return ((DAEMON_SETS, by_itself), (PODS, by_owner("DaemonSet")), (NODES, self._all))

    def _all(self, node: Object) -> Iterable[Key]:
        return [key_of(one) for one in self.context.see(DAEMON_SETS).all()]

    def reconcile(self, key: Key) -> float | None:
        daemon_set = self.context.see(DAEMON_SETS).get(*key)
        if daemon_set is None or is_leaving(daemon_set):
            return None
        number = template_hash(daemon_set["spec"]["template"])
        wanted = _on(daemon_set)
        nodes = {
            node["metadata"]["name"]: node
            for node in self.context.see(NODES).all()
            if not is_leaving(node)
        }
        fitting = {
            name
            for name, node in nodes.items()
            if _belongs(wanted["spec"]["template"]["spec"], node)
        }
        pods: dict[str, list[Object]] = {}
        for pod in self.context.see(PODS).owned_by(uid_of(daemon_set)):
            pods.setdefault(_node_of(pod), []).append(pod)
        for name, there in pods.items():
            for pod in (
                there if name not in fitting else [*filter(is_over, there), *_living(there)[1:]]
            ):
                if not is_leaving(pod):
                    self.context.delete(PODS, pod)
        for name in sorted(fitting):
            if not pods.get(name):
                pods[name] = [self._create(wanted, name, number)]
        current = {name: pod for name in fitting for pod in _living(pods[name])[:1]}
        self._renew(daemon_set, current, number)
        self._tell(daemon_set, fitting, pods, current, number)
        return None

    def _create(self, daemon_set: Object, node: str, number: str) -> Object:
        spec = daemon_set["spec"]["template"]["spec"]
        pinned = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": [node]}]}
        affinity = {
            **(spec.get("affinity") or {}),
            "nodeAffinity": {
                "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [pinned]}
            },
        }
        template = {**daemon_set["spec"]["template"], "spec": {**spec, "affinity": affinity}}
        owner = {**daemon_set, "spec": {**daemon_set["spec"], "template": template}}
        labels = {
            HASH: number,
            "pod-template-generation": str(daemon_set["metadata"].get("generation", 1)),
        }
        return create_pod(
            self.context,
            owner,
            DAEMON_SETS,
            f"{daemon_set['metadata']['name']}-{suffix()}",
            labels=labels,
        )

    def _renew(self, daemon_set: Object, current: dict[str, Object], number: str) -> None:
        """Pods of an older template go, a few at a time."""
        strategy = daemon_set["spec"].get("updateStrategy") or {}
        old = [pod for pod in current.values() if labels_of(pod).get(HASH) != number]
        if not old or strategy.get("type") == "OnDelete":
            return
        most = (strategy.get("rollingUpdate") or {}).get("maxUnavailable", 1)
        most = max(
            1, most if isinstance(most, int) else int(most.rstrip("%")) * len(current) // 100
        )
        idle = [pod for pod in old if not is_ready(pod)]
        waiting = sum(1 for pod in current.values() if not is_ready(pod) and pod not in idle)
        ready = [pod for pod in old if is_ready(pod)][: max(0, most - waiting - len(idle))]
        for pod in [*idle, *ready]:
            self.context.delete(PODS, pod)

    def _tell(
        self,
        daemon_set: Object,
        fitting: set[str],
        pods: dict[str, list[Object]],
        current: dict[str, Object],
        number: str,
    ) -> None:
        astray = sum(1 for name, there in pods.items() if name not in fitting and _living(there))
        ready = sum(1 for pod in current.values() if is_ready(pod))
        self.context.patch_status(
            DAEMON_SETS,
            daemon_set,
            {
                "desiredNumberScheduled": len(fitting),
                "currentNumberScheduled": len(current),
                "numberMisscheduled": astray,
                "numberReady": ready,
                "numberAvailable": ready,
                "numberUnavailable": len(fitting) - ready,
                "updatedNumberScheduled": sum(
                    1 for pod in current.values() if labels_of(pod).get(HASH) == number
                ),
                "observedGeneration": daemon_set["metadata"].get("generation", 1),
            },
        )


def _on(daemon_set: Object) -> Object:
    """The set with the tolerations that its pods get by themselves."""
    template = daemon_set["spec"]["template"]
    added = [
        {"key": f"node.kubernetes.io/{name}", "operator": "Exists", "effect": "NoExecute"}
        for name in _STAYS
    ]
    added += [
        {"key": f"node.kubernetes.io/{name}", "operator": "Exists", "effect": "NoSchedule"}
        for name in _COMES_ANYWAY
    ]
    tolerations = [*(template["spec"].get("tolerations") or ()), *added]
    spec = {**template["spec"], "tolerations": tolerations}
    return {**daemon_set, "spec": {**daemon_set["spec"], "template": {**template, "spec": spec}}}


def _belongs(spec: Object, node: Object) -> bool:
    taints = (node.get("spec") or {}).get("taints") or ()
    kept_off = any(
        taint["effect"] in ("NoSchedule", "NoExecute") and not tolerates(spec, taint)
        for taint in taints
    )
    return not kept_off and matches_affinity(spec, node)


def _node_of(pod: Object) -> str:
    """Also before it is scheduled: the one node that it was made for."""
    if pod["spec"].get("nodeName"):
        return str(pod["spec"]["nodeName"])
    required = (
        (pod["spec"].get("affinity") or {})
        .get("nodeAffinity", {})
        .get("requiredDuringSchedulingIgnoredDuringExecution")
    )
    for term in (required or {}).get("nodeSelectorTerms") or ():
        for field in term.get("matchFields") or ():
            return str(field["values"][0])
    return ""


def _living(pods: list[Object]) -> list[Object]:
    return [pod for pod in pods if not is_over(pod) and not is_leaving(pod)]
