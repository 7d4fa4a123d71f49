"""Which controllers there are: the one list. Operators and clouds add theirs here."""

from __future__ import annotations

from sandbox.kube.controllers.aws_nodes import AwsNodes
from sandbox.kube.controllers.budgets import BudgetController
from sandbox.kube.controllers.claims import ClaimController
from sandbox.kube.controllers.controller import Controller
from sandbox.kube.controllers.daemons import DaemonSetController
from sandbox.kube.controllers.deployments import DeploymentController
from sandbox.kube.controllers.eviction import EvictionController
from sandbox.kube.controllers.garbage import GarbageCollector
from sandbox.kube.controllers.gcp_nodes import GcpNodes
from sandbox.kube.controllers.jobs import JobController
from sandbox.kube.controllers.namespaces import NamespaceController
from sandbox.kube.controllers.nodes import NodeController
from sandbox.kube.controllers.reclaim import VolumeController
from sandbox.kube.controllers.replicas import ReplicaSetController
from sandbox.kube.controllers.running.crew import KubeletController
from sandbox.kube.controllers.scheduler import Scheduler
from sandbox.kube.controllers.services import EndpointsController
from sandbox.kube.controllers.stateful import StatefulSetController
from sandbox.kube.controllers.world import World
from sandbox.kube.operators.controllers import CONTROLLERS as OPERATORS

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


def controllers(world: World) -> list[Controller]:
    kinds = CONTROLLERS if world.pretend else (*BESIDE_A_REAL_API, *CONTROLLERS)
    return [kind(world) for kind in kinds]
