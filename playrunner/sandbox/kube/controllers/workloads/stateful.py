"""StatefulSets: pods with numbers and claims of their own, one after another or all at once."""

from __future__ import annotations

from collections.abc import Iterable

from playrunner.sandbox.kube.controllers.framework.client import ApiError
from playrunner.sandbox.kube.controllers.framework.controller import (
    Controller,
    Watch,
    by_itself,
    by_owner,
    for_reading,
)
from playrunner.sandbox.kube.controllers.framework.pods import is_over, is_ready
from playrunner.sandbox.kube.controllers.framework.resources import (
    CLAIMS,
    PODS,
    STATEFUL_SETS,
    Key,
    Object,
    is_leaving,
    labels_of,
    uid_of,
)
from playrunner.sandbox.kube.controllers.workloads.deployments import template_hash
from playrunner.sandbox.kube.controllers.workloads.replicas import create_pod

HASH = "controller-revision-hash"


class StatefulSetController(Controller):
    name = "statefulsets"

    def watches(self) -> Iterable[Watch]:
        return ((STATEFUL_SETS, by_itself), (PODS, by_owner("StatefulSet")), (CLAIMS, for_reading))

    def reconcile(self, key: Key) -> float | None:
        stateful_set = self.context.see(STATEFUL_SETS).get(*key)
        if stateful_set is None or is_leaving(stateful_set):
            return None
        number = (
            f"{stateful_set['metadata']['name']}-{template_hash(stateful_set['spec']['template'])}"
        )
        pods = {
            pod["metadata"]["name"]: pod
            for pod in self.context.see(PODS).owned_by(uid_of(stateful_set))
        }
        wanted = [
            f"{stateful_set['metadata']['name']}-{index}"
            for index in range(stateful_set["spec"].get("replicas", 1))
        ]
        self._step(stateful_set, pods, wanted, number)
        self._tell(
            stateful_set,
            [pod for name, pod in pods.items() if not is_leaving(pod) and not is_over(pod)],
            number,
        )
        return None

    def _step(
        self, stateful_set: Object, pods: dict[str, Object], wanted: list[str], number: str
    ) -> None:
        """Whatever may be done now; in order, unless it says that the order does not matter."""
        at_once = stateful_set["spec"].get("podManagementPolicy") == "Parallel"
        for index, name in enumerate(wanted):
            pod = pods.get(name)
            if pod is None:
                pods[name] = self._create(stateful_set, name, index, number)
            elif is_over(pod) and not is_leaving(pod):
                self.context.delete(PODS, pod)
            if not at_once and not is_ready(pods[name]):
                return
        surplus = sorted((name for name in pods if name not in wanted), key=_index, reverse=True)
        for name in surplus if at_once else surplus[:1]:
            if not is_leaving(pods[name]):
                self.context.delete(PODS, pods[name])
        if surplus and not at_once:
            return
        self._renew(stateful_set, pods, wanted, number)

    def _renew(
        self, stateful_set: Object, pods: dict[str, Object], wanted: list[str], number: str
    ) -> None:
        """A pod of an older template goes, the highest number first, once all others are ready."""
        strategy = stateful_set["spec"].get("updateStrategy") or {}
        least = (strategy.get("rollingUpdate") or {}).get("partition", 0)
        old = [name for name in wanted[least:] if labels_of(pods[name]).get(HASH) != number]
        if (
            strategy.get("type") == "OnDelete"
            or not old
            or any(not is_ready(pods[name]) for name in wanted if name not in old)
        ):
            return
        if not is_leaving(pods[old[-1]]):
            self.context.delete(PODS, pods[old[-1]])

    def _create(self, stateful_set: Object, name: str, index: int, number: str) -> Object:
        template = stateful_set["spec"]["template"]
        claims = stateful_set["spec"].get("volumeClaimTemplates") or []
        own = {claim["metadata"]["name"] for claim in claims}
        volumes = [
            volume for volume in template["spec"].get("volumes") or () if volume["name"] not in own
        ]
        for claim in claims:
            claimed = f"{claim['metadata']['name']}-{name}"
            volumes.append(
                {"name": claim["metadata"]["name"], "persistentVolumeClaim": {"claimName": claimed}}
            )
            self._keep_claim(stateful_set, claim, claimed)
        spec = {
            **template["spec"],
            "hostname": name,
            "subdomain": stateful_set["spec"].get("serviceName") or "",
            "volumes": volumes,
        }
        owner = {
            **stateful_set,
            "spec": {**stateful_set["spec"], "template": {**template, "spec": spec}},
        }
        labels = {
            HASH: number,
            "statefulset.kubernetes.io/pod-name": name,
            "apps.kubernetes.io/pod-index": str(index),
        }
        return create_pod(self.context, owner, STATEFUL_SETS, name, labels=labels)

    def _keep_claim(self, stateful_set: Object, claim: Object, name: str) -> None:
        namespace = stateful_set["metadata"]["namespace"]
        if self.context.see(CLAIMS).get(namespace, name) is not None:
            return
        labels = (stateful_set["spec"].get("selector") or {}).get("matchLabels") or {}
        metadata = {
            "name": name,
            "namespace": namespace,
            "labels": {**labels, **(claim["metadata"].get("labels") or {})},
        }
        try:
            self.context.create(CLAIMS, {"metadata": metadata, "spec": claim["spec"]})
        except ApiError as error:
            if error.reason != "AlreadyExists":
                raise

    def _tell(self, stateful_set: Object, living: list[Object], number: str) -> None:
        current = [pod for pod in living if labels_of(pod).get(HASH) == number]
        wanted = stateful_set["spec"].get("replicas", 1)
        before = (stateful_set.get("status") or {}).get("currentRevision") or number
        settled = len(current) == len(living) == wanted
        ready = sum(map(is_ready, living))
        self.context.patch_status(
            STATEFUL_SETS,
            stateful_set,
            {
                "replicas": len(living),
                "readyReplicas": ready,
                "availableReplicas": ready,
                "updatedReplicas": len(current),
                "currentReplicas": len(current) if settled else len(living) - len(current),
                "updateRevision": number,
                "currentRevision": number if settled else before,
                "observedGeneration": stateful_set["metadata"].get("generation", 1),
            },
        )


def _index(name: str) -> int:
    return int(name.rpartition("-")[2])
