"""trainjob: a TrainJob of Kubeflow Trainer with a runtime of its own; its controller makes a JobSet
of both, so pods and restarts are those of `jobset`."""

from __future__ import annotations

from playrunner.project import program
from playrunner.training.kube.launchers import jobset
from playrunner.training.kube.launchers.kind import Kind

LAUNCHER = Kind(
    "trainjob",
    ("trainer.kubeflow.org/v1alpha1", "TrainJob"),
    f"{program()} jobset.create and {program()} kubeflow-trainer.create",
    jobset.LAUNCHER.fill,
    jobset.LAUNCHER.first_pod,
    jobset.LAUNCHER.pods,
    jobset.status_reader("Complete", "jobsStatus"),
    queued=True,
    controller=("kubeflow-system", "kubeflow_trainer"),
    also=("jobset",),
)
