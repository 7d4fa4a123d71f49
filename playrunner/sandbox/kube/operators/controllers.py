"""The operators' controllers: what the cluster's roster takes from here."""

from __future__ import annotations

from collections.abc import Iterable

from playrunner.sandbox.kube.controllers.framework.controller import (
    Controller,
    Watch,
    for_reading,
)
from playrunner.sandbox.kube.controllers.framework.resources import CONFIG_MAPS
from playrunner.sandbox.kube.operators import elastic, kubeflow
from playrunner.sandbox.kube.operators.admission import AdmissionController
from playrunner.sandbox.kube.operators.jobset.controller import JobSetController
from playrunner.sandbox.kube.operators.kueue.controller import KueueController
from playrunner.sandbox.kube.operators.replicated.controller import ReplicaJobController
from playrunner.sandbox.kube.operators.replicated.spec import Dialect
from playrunner.sandbox.kube.operators.trainer.controller import TrainJobController
from playrunner.sandbox.kube.operators.volcano.jobs import VolcanoJobController
from playrunner.sandbox.kube.operators.volcano.lone_pods import LonePodController
from playrunner.sandbox.kube.operators.volcano.queues import QueueController
from playrunner.sandbox.kube.operators.volcano.scheduler import VolcanoScheduler


class PyTorchJobController(ReplicaJobController):
    """Kubeflow's training operator."""

    name = "training-operator"
    dialect = kubeflow.DIALECT

    def watches(self) -> Iterable[Watch]:
        return (*super().watches(), (CONFIG_MAPS, for_reading))

    def started(self) -> Dialect:
        return kubeflow.dialect(self.dialect.operator.file(self.context, kubeflow.TEMPLATE_FILE))


class ElasticJobController(ReplicaJobController):
    """The ElasticJob controller."""

    name = "elastic-job-controller"
    dialect = elastic.DIALECT


CONTROLLERS: tuple[type[Controller], ...] = (
    PyTorchJobController,
    ElasticJobController,
    VolcanoJobController,
    QueueController,
    LonePodController,
    JobSetController,
    TrainJobController,
    KueueController,
    VolcanoScheduler,
    AdmissionController,
)
