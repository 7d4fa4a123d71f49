"""What Kubeflow Trainer's admission completes and refuses."""

from __future__ import annotations

from playrunner.sandbox.kube.controllers.framework.controller_context import ControllerContext
from playrunner.sandbox.kube.controllers.framework.resources import Object, labels_of
from playrunner.sandbox.kube.operators.kinds import CLUSTER_RUNTIMES, RUNTIMES
from playrunner.sandbox.kube.operators.listener import Judge
from playrunner.sandbox.kube.operators.reviews import ReviewAnswer, ReviewRequest
from playrunner.sandbox.kube.operators.trainer.controller import runtime_of
from playrunner.sandbox.kube.operators.trainer.job_sets import STEP

_STEPS = ("dataset-initializer", "model-initializer", "trainer")


def complete_train_job(context: ControllerContext, request: ReviewRequest) -> ReviewAnswer:
    named = dict(request.object["spec"].get("runtimeRef") or {})
    full = {"apiGroup": "trainer.kubeflow.org", "kind": CLUSTER_RUNTIMES.kind, **named}
    return ReviewAnswer(added=(("/spec/runtimeRef", full),))


def judge_train_job(context: ControllerContext, request: ReviewRequest) -> ReviewAnswer:
    train_job = request.object
    if request.operation == "UPDATE" and train_job["spec"].get("runtimeRef") != request.before[
        "spec"
    ].get("runtimeRef"):
        return ReviewAnswer("spec.runtimeRef: Invalid value: field is immutable", code=422)
    if request.operation == "CREATE" and runtime_of(context, train_job) is None:
        kind = str(train_job["spec"]["runtimeRef"].get("kind") or CLUSTER_RUNTIMES.kind)
        name = train_job["spec"]["runtimeRef"]["name"]
        return ReviewAnswer(
            f'spec.runtimeRef: Invalid value: {kind} "{name}" not found: specified'
            f" {kind[0].lower()}{kind[1:]} must be created before the TrainJob is created",
            code=422,
        )
    return ReviewAnswer()


def judge_runtime(context: ControllerContext, request: ReviewRequest) -> ReviewAnswer:
    return ReviewAnswer("; ".join(_problems(request.object)), code=422)


def _problems(runtime: Object) -> list[str]:
    jobs = (runtime["spec"]["template"].get("spec") or {}).get("replicatedJobs") or ()
    return [
        f"spec.template.spec.replicatedJobs[{at}].replicas: Invalid value: always must be 1"
        for at, job in enumerate(jobs)
        if int(job.get("replicas", 1)) != 1
    ] + [
        f"spec.template.spec.replicatedJobs[{at}]: {STEP}: Invalid value: {step}"
        for at, job in enumerate(jobs)
        if (step := labels_of(job.get("template") or {}).get(STEP)) and step not in _STEPS
    ]


JUDGES: dict[str, Judge] = {
    "/mutate-trainer-kubeflow-org-v1alpha1-trainjob": complete_train_job,
    "/validate-trainer-kubeflow-org-v1alpha1-trainjob": judge_train_job,
    f"/validate-trainer-kubeflow-org-v1alpha1-{RUNTIMES.kind.lower()}": judge_runtime,
    f"/validate-trainer-kubeflow-org-v1alpha1-{CLUSTER_RUNTIMES.kind.lower()}": judge_runtime,
}
