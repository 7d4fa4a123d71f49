"""Which controllers there are: the one list. Operators and clouds add theirs here."""

from __future__ import annotations

from playrunner.sandbox.kube.controllers.framework.controller import Controller
from playrunner.sandbox.kube.controllers.framework.controller_context import ControllerContext
from playrunner.sandbox.kube.controllers.kubelet.kubelet_controller import KubeletController
from playrunner.sandbox.kube.controllers.nodes.aws_nodes import AwsNodes
from playrunner.sandbox.kube.controllers.nodes.eviction import EvictionController
from playrunner.sandbox.kube.controllers.nodes.gcp_nodes import GcpNodes
from playrunner.sandbox.kube.controllers.nodes.nodes import NodeController
from playrunner.sandbox.kube.controllers.scheduling.scheduler import Scheduler
from playrunner.sandbox.kube.controllers.storage.claims import ClaimController
from playrunner.sandbox.kube.controllers.storage.reclaim import VolumeController
from playrunner.sandbox.kube.controllers.workloads.budgets import BudgetController
from playrunner.sandbox.kube.controllers.workloads.daemons import DaemonSetController
from playrunner.sandbox.kube.controllers.workloads.deployments import DeploymentController
from playrunner.sandbox.kube.controllers.workloads.garbage import GarbageCollector
from playrunner.sandbox.kube.controllers.workloads.jobs import JobController
from playrunner.sandbox.kube.controllers.workloads.namespaces import NamespaceController
from playrunner.sandbox.kube.controllers.workloads.replicas import ReplicaSetController
from playrunner.sandbox.kube.controllers.workloads.services import EndpointsController
from playrunner.sandbox.kube.controllers.workloads.stateful import StatefulSetController
from playrunner.sandbox.kube.operators.controllers import CONTROLLERS as OPERATORS

CONTROLLERS: tuple[type[Controller], ...] = (
    AwsNodes,
    GcpNodes,
    NodeController,
    Scheduler,
    KubeletController,
    ReplicaSetController,
    DeploymentController,
    DaemonSetController,
    StatefulSetController,
    JobController,
    EndpointsController,
    ClaimController,
    VolumeController,
    EvictionController,
    BudgetController,
    *OPERATORS,
)


# What the pretend API does by itself, and a real one leaves to its controller manager.
BESIDE_A_REAL_API: tuple[type[Controller], ...] = (NamespaceController, GarbageCollector)


def controllers(context: ControllerContext) -> list[Controller]:
    kinds = CONTROLLERS if context.pretend else (*BESIDE_A_REAL_API, *CONTROLLERS)
    return [kind(context) for kind in kinds]
