"""What the training operator's admission refuses."""

from __future__ import annotations

import re

from playrunner.sandbox.kube.controllers.framework.resources import Object
from playrunner.sandbox.kube.controllers.framework.world import World
from playrunner.sandbox.kube.operators.kubeflow import CONTAINER
from playrunner.sandbox.kube.operators.reviews import Question, Verdict

_NAME = re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?")
_KINDS = ("Master", "Worker")


def judge_pytorch_job(world: World, question: Question) -> Verdict:
    if question.operation == "DELETE":
        return Verdict()
    found = _problems(question.object)
    return Verdict(", ".join(found) if len(found) < 2 else f"[{', '.join(found)}]", code=403)


def _problems(job: Object) -> list[str]:
    name, spec = job["metadata"].get("name") or "", job.get("spec") or {}
    found = []
    if not _NAME.fullmatch(name) or len(name) > 63:
        found.append(
            f'metadata.name: Invalid value: "{name}": should match: must start with a letter, of'
            " a-z, 0-9 and dashes"
        )
    if (spec.get("elasticPolicy") or {}).get("nProcPerNode") is not None and spec.get(
        "nprocPerNode"
    ) is not None:
        found.append(
            "spec.elasticPolicy.nProcPerNode: Forbidden: must not be used with spec.nprocPerNode"
        )
    replicas = spec.get("pytorchReplicaSpecs")
    if not replicas:
        return [*found, "spec.pytorchReplicaSpecs: Required value: must be specified"]
    for kind, one in replicas.items():
        found += _replica_problems(kind, one, f"spec.pytorchReplicaSpecs[{kind}]")
    return found


def _replica_problems(kind: str, one: Object, where: str) -> list[str]:
    if kind not in _KINDS:
        return [f'{where}: Unsupported value: "{kind}": supported values: "Master", "Worker"']
    found = []
    containers = ((one.get("template") or {}).get("spec") or {}).get("containers") or []
    if not containers:
        return [f"{where}.template.spec.containers: Required value: must be specified"]
    for number, container in enumerate(containers):
        if not container.get("image"):
            found.append(
                f"{where}.template.spec.containers[{number}].image: Required value: must be"
                " required"
            )
    if not any(container.get("name") == CONTAINER for container in containers):
        found.append(
            f"{where}.template.spec.containers: Required value: must have at least one container"
            f" with name {CONTAINER}"
        )
    if kind == "Master" and (one.get("replicas") or 1) != 1:
        found.append(f"{where}.replicas: Forbidden: must be 1")
    return found
