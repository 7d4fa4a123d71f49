"""trainjob: a TrainJob of Kubeflow Trainer with a runtime of its own; its controller makes a JobSet
of both, so pods and restarts are those of `jobset`."""

from __future__ import annotations

from playrunner.project import program
from playrunner.training.kube.launchers import jobset
from playrunner.training.kube.launchers.kind import Kind, Status, Thing


def _read(thing: Thing) -> Status:
    status = thing.get("status") or {}
    held = {
        str(condition.get("type")): condition
        for condition in status.get("conditions") or ()
        if str(condition.get("status")) == "True"
    }
    if "Failed" in held:
        why = held["Failed"]
        text = f"{why.get('reason', '')}: {why.get('message', '')}".strip(": ")
        return Status("failed", "Failed", text)
    if "Complete" in held:
        return Status("finished", "Complete")
    if "Suspended" in held:
        return Status("pending", "Suspended")
    counts = status.get("jobsStatus") or ()
    if counts and all(int(count.get("ready") or 0) for count in counts):
        return Status("running", "Ready")
    active = any(int(count.get("active") or 0) for count in counts)
    return Status("pending", "Active" if active else "Created")


LAUNCHER = Kind(
    "trainjob",
    ("trainer.kubeflow.org/v1alpha1", "TrainJob"),
    f"{program()} jobset.create and {program()} kubeflow-trainer.create",
    jobset.LAUNCHER.fill,
    jobset.LAUNCHER.first_pod,
    jobset.LAUNCHER.pods,
    _read,
    queued=True,
    controller=("kubeflow-system", "kubeflow_trainer"),
    also=("jobset",),
)
