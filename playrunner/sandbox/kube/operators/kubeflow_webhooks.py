"""What the training operator's admission refuses."""

from __future__ import annotations

import re

from playrunner.sandbox.kube.controllers.framework.controller_context import ControllerContext
from playrunner.sandbox.kube.controllers.framework.resources import Object
from playrunner.sandbox.kube.operators.kubeflow import CONTAINER
from playrunner.sandbox.kube.operators.reviews import ReviewAnswer, ReviewRequest

_NAME = re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?")
_KINDS = ("Master", "Worker")


def judge_pytorch_job(context: ControllerContext, request: ReviewRequest) -> ReviewAnswer:
    if request.operation == "DELETE":
        return ReviewAnswer()
    problems = _problems(request.object)
    return ReviewAnswer(
        ", ".join(problems) if len(problems) < 2 else f"[{', '.join(problems)}]", code=403
    )


def _problems(job: Object) -> list[str]:
    name, spec = job["metadata"].get("name") or "", job.get("spec") or {}
    problems = []
    if not _NAME.fullmatch(name) or len(name) > 63:
        problems.append(
            f'metadata.name: Invalid value: "{name}": should match: must start with a letter, of'
            " a-z, 0-9 and dashes"
        )
    if (spec.get("elasticPolicy") or {}).get("nProcPerNode") is not None and spec.get(
        "nprocPerNode"
    ) is not None:
        problems.append(
            "spec.elasticPolicy.nProcPerNode: Forbidden: must not be used with spec.nprocPerNode"
        )
    replicas = spec.get("pytorchReplicaSpecs")
    if not replicas:
        return [*problems, "spec.pytorchReplicaSpecs: Required value: must be specified"]
    for kind, spec_of_kind in replicas.items():
        problems += _replica_problems(kind, spec_of_kind, f"spec.pytorchReplicaSpecs[{kind}]")
    return problems


def _replica_problems(kind: str, replica_spec: Object, where: str) -> list[str]:
    if kind not in _KINDS:
        return [f'{where}: Unsupported value: "{kind}": supported values: "Master", "Worker"']
    problems = []
    containers = ((replica_spec.get("template") or {}).get("spec") or {}).get("containers") or []
    if not containers:
        return [f"{where}.template.spec.containers: Required value: must be specified"]
    for number, container in enumerate(containers):
        if not container.get("image"):
            problems.append(
                f"{where}.template.spec.containers[{number}].image: Required value: must be"
                " required"
            )
    if not any(container.get("name") == CONTAINER for container in containers):
        problems.append(
            f"{where}.template.spec.containers: Required value: must have at least one container"
            f" with name {CONTAINER}"
        )
    if kind == "Master" and (replica_spec.get("replicas") or 1) != 1:
        problems.append(f"{where}.replicas: Forbidden: must be 1")
    return problems
