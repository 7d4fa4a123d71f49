"""What Kueue's admission completes and refuses."""

from __future__ import annotations

from playrunner.sandbox.kube.controllers.framework.controller_context import ControllerContext
from playrunner.sandbox.kube.controllers.framework.resources import labels_of
from playrunner.sandbox.kube.operators.kueue.controller import QUEUE
from playrunner.sandbox.kube.operators.listener import Judge
from playrunner.sandbox.kube.operators.reviews import ReviewAnswer, ReviewRequest

_JOBS = (
    "batch-v1-job",
    "jobset-x-k8s-io-v1alpha2-jobset",
    "kubeflow-org-v1-pytorchjob",
    "trainer-kubeflow-org-v1alpha1-trainjob",
)
_OWN = ("clusterqueue", "resourceflavor", "workload")


def _suspend(context: ControllerContext, request: ReviewRequest) -> ReviewAnswer:
    """A job that names a queue begins suspended."""
    spec = request.object.get("spec") or {}
    policy = spec.get("runPolicy")
    if QUEUE not in labels_of(request.object):
        return ReviewAnswer()
    if request.object.get("kind") == "PyTorchJob":
        return ReviewAnswer(added=(("/spec/runPolicy", {**(policy or {}), "suspend": True}),))
    return ReviewAnswer(added=(("/spec/suspend", True),))


def _pass(context: ControllerContext, request: ReviewRequest) -> ReviewAnswer:
    return ReviewAnswer()


def _judge_job(context: ControllerContext, request: ReviewRequest) -> ReviewAnswer:
    """The queue of a job that runs does not change."""
    if request.operation != "UPDATE" or (request.before.get("spec") or {}).get("suspend"):
        return ReviewAnswer()
    if labels_of(request.before).get(QUEUE) != labels_of(request.object).get(QUEUE):
        return ReviewAnswer(f"metadata.labels[{QUEUE}]: field is immutable", code=422)
    return ReviewAnswer()


def _judge_queue(context: ControllerContext, request: ReviewRequest) -> ReviewAnswer:
    for group in (request.object.get("spec") or {}).get("resourceGroups") or ():
        for flavor in group.get("flavors") or ():
            named = [one["name"] for one in flavor.get("resources") or ()]
            if named != list(group.get("coveredResources") or ()):
                return ReviewAnswer(
                    "spec.resourceGroups: flavors must list the covered resources in their order",
                    code=422,
                )
    return ReviewAnswer()


JUDGES: dict[str, Judge] = {
    **{f"/mutate-{name}": _suspend for name in _JOBS},
    **{f"/validate-{name}": _judge_job for name in _JOBS},
    **{f"/mutate-kueue-x-k8s-io-v1beta2-{name}": _pass for name in _OWN},
    **{f"/validate-kueue-x-k8s-io-v1beta2-{name}": _pass for name in _OWN},
    "/validate-kueue-x-k8s-io-v1beta2-clusterqueue": _judge_queue,
}
