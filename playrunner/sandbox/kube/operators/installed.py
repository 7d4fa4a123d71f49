"""Which Deployment stands for which operator; an operator acts only while its own has a ready
pod."""

from __future__ import annotations

from dataclasses import dataclass

from playrunner.sandbox.kube.controllers.framework.controller_context import ControllerContext
from playrunner.sandbox.kube.controllers.framework.pods import is_ready
from playrunner.sandbox.kube.controllers.framework.resources import (
    CONFIG_MAPS,
    DEFINITIONS,
    DEPLOYMENTS,
    PODS,
    Key,
    Object,
    Resource,
)
from playrunner.sandbox.kube.wire.selectors import by_selector


@dataclass(frozen=True)
class Operator:
    """A program of a cluster, known by its Deployment."""

    namespace: str
    deployment: str
    awaits: str = ""  # the definition that it must find before it does anything
    since: tuple[int, ...] = ()  # from this version of its image on

    def pods(self, context: ControllerContext) -> list[Object]:
        """Those of its Deployment that are ready."""
        found = context.see(DEPLOYMENTS).get(self.namespace, self.deployment)
        if found is None:
            return []
        belongs = by_selector(found["spec"].get("selector"))
        return [
            one for one in context.see(PODS).all(self.namespace) if belongs(one) and is_ready(one)
        ]

    def acts(self, context: ControllerContext) -> bool:
        pods = self.pods(context)
        return bool(pods) and not self._is_waiting(context, pods[0])

    def _is_waiting(self, context: ControllerContext, pod: Object) -> bool:
        """Controllers share their watches, and each waits until all of them are answered."""
        if not self.awaits:
            return False
        tag = str(pod["spec"]["containers"][0].get("image") or "").rpartition(":v")[2]
        version = tuple(int(part) for part in tag.split(".")[:2] if part.isdigit())
        missing = context.see(DEFINITIONS).get("", self.awaits) is None
        return bool(version) and version >= self.since and missing

    def incarnation(self, context: ControllerContext) -> str:
        """Who it is right now: another one after each restart, none while it is away."""
        pods = self.pods(context)
        if not pods or self._is_waiting(context, pods[0]):
            return ""
        return str(pods[0]["metadata"]["uid"])

    def argument(self, context: ControllerContext, flag: str) -> str | None:
        """What it was started with: `--flag=value`, or an empty text for a bare `--flag`."""
        pod: Object = next(iter(self.pods(context)), {"spec": {}})
        for container in pod["spec"].get("containers") or ():
            for word in [*(container.get("command") or ()), *(container.get("args") or ())]:
                name, _, value = str(word).partition("=")
                if name == flag:
                    return value
        return None

    def file(self, context: ControllerContext, path: str) -> str | None:
        """The text of a file that a ConfigMap puts in its pod."""
        folder, _, name = path.rpartition("/")
        pod: Object = next(iter(self.pods(context)), {"spec": {}})
        mounted = {
            mount["name"]
            for container in pod["spec"].get("containers") or ()
            for mount in container.get("volumeMounts") or ()
            if mount["mountPath"].rstrip("/") == folder
        }
        for volume in pod["spec"].get("volumes") or ():
            if volume["name"] in mounted and volume.get("configMap"):
                held = context.see(CONFIG_MAPS).get(self.namespace, volume["configMap"]["name"])
                text = ((held or {}).get("data") or {}).get(name)
                return None if text is None else str(text)
        return None


TRAINING_OPERATOR = Operator("kubeflow", "training-operator")
ELASTIC_JOB_CONTROLLER = Operator("elastic-job", "elastic-job-k8s-controller")
VOLCANO_CONTROLLERS = Operator(
    "volcano-system",
    "volcano-controllers",
    "colocationconfigurations.config.volcano.sh",
    (1, 14),
)
VOLCANO_SCHEDULER = Operator("volcano-system", "volcano-scheduler")
VOLCANO_ADMISSION = Operator("volcano-system", "volcano-admission")
JOBSET_MANAGER = Operator("jobset-system", "jobset-controller-manager")
TRAINER_MANAGER = Operator("kubeflow-system", "kubeflow-trainer-controller-manager")
KUEUE_MANAGER = Operator("kueue-system", "kueue-controller-manager")
OPERATORS = (
    TRAINING_OPERATOR,
    ELASTIC_JOB_CONTROLLER,
    VOLCANO_CONTROLLERS,
    VOLCANO_SCHEDULER,
    VOLCANO_ADMISSION,
    JOBSET_MANAGER,
    TRAINER_MANAGER,
    KUEUE_MANAGER,
)


def concerns_operator(operator: Operator, one: Object) -> bool:
    """Whether this pod or Deployment says something about the operator's being there."""
    namespace, name = one["metadata"].get("namespace", ""), one["metadata"]["name"]
    return bool(namespace == operator.namespace and str(name).startswith(operator.deployment))


def all_of(context: ControllerContext, resource: Resource) -> list[Key]:
    """The keys of everything there is of a kind: what an operator that comes back looks at."""
    return [
        (one["metadata"].get("namespace", ""), one["metadata"]["name"])
        for one in context.see(resource).all()
    ]
