"""Where on a cluster a run lives, as the inventory says it: namespace, image, claim, queue, and the
way to the API server."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from typing import Any

from playrunner.errors import BadInput
from playrunner.inventory.inventory import Inventory
from playrunner.kube.client.client import Cluster, Kube
from playrunner.kube.client.config import settings_of
from playrunner.kube.client.open import open_transport
from playrunner.options import Options
from playrunner.playbook.keywords import templar
from playrunner.run.run import open_inventory
from playrunner.ssh.sandbox_autostart import set_cloud_stage
from playrunner.variables.extra_vars import read_extra_vars
from playrunner.variables.host_memory import World
from playrunner.variables.scope import Scope
from playrunner.variables.templating import MISSING

PORT = 29500  # where torch's processes meet unless told otherwise
ETCD = "etcd-service:2379"


@dataclass(frozen=True)
class Ground:
    """What the inventory says of the place; empty is not said."""

    namespace: str = "default"
    image: str = ""
    python: str = "python3"
    pull_policy: str = "IfNotPresent"
    claim: str = ""  # a ReadWriteMany claim in the namespace
    mount: str = "/data"  # where pods see it
    service_account: str = ""
    priority_class: str = ""
    queue: str = "default"  # Volcano's
    rendezvous: str = "c10d"  # or etcd
    etcd: str = ETCD
    port: int = PORT
    code: str = "configmap"  # or image: it is in there already
    interface: str = "eth0"  # a pod's, with nearly every network plugin
    cacheset: str = "default"  # Neuron's compiled graphs are kept under it
    autoscaled_nodes: int = 0  # so many nodes come when they are needed
    instance_type: str = ""  # of nodes that are still to come
    node_selector: dict[str, str] = field(default_factory=dict)
    tolerations: tuple[dict[str, Any], ...] = ()
    hourly: float = 0.0  # one node
    # An operator that restarts, or moves to another node, is back by then
    patience_seconds: float = 300.0

    @property
    def root(self) -> str:
        """The folder of runs in a pod: on the claim, else on the pod's own disk (a store then holds
        the checkpoints)."""
        return self.mount if self.claim else "/tmp/playrunner"


@dataclass(frozen=True)
class Site:
    """An inventory and its cluster."""

    inventory: Inventory
    kube: Kube
    ground: Ground
    environment: dict[str, str]
    scope: Scope


def open_site(options: Options) -> Site:
    """The cluster that the inventory names, reached when first asked something; a sandbox's is
    started when it is not up."""
    inventory = open_inventory(options)
    if not options.kubeconfig:
        set_cloud_stage(inventory, ["k8s.manifest"])
    scope = _scope(inventory, options)
    settings = settings_of(lambda name: _value(scope, name, ""))
    kube = Kube(Cluster(lambda: open_transport(settings, scope)))
    given = _value(scope, "train_environment", {})
    if not isinstance(given, dict):
        raise BadInput("train_environment must be a mapping of names to values")
    environment = {str(name): str(value) for name, value in given.items()}
    return Site(inventory, kube, _ground(scope, kube), environment, scope)


def launcher_of(options: Options) -> str:
    """The launcher that the inventory chooses; nothing where it leaves it to the profile."""
    return str(_value(_scope(open_inventory(options), options), "train_launcher", ""))


def _scope(inventory: Inventory, options: Options) -> Scope:
    """The inventory's variables as a play would see them, with what the command line says over
    them."""
    named = {"kubeconfig": options.kubeconfig, "kube_context": ""} if options.kubeconfig else {}
    extra = {**named, **read_extra_vars(options.extra_vars)}
    return Scope(
        World(inventory, templar, extra, {"ansible_playbook_python": sys.executable}), "localhost"
    )


def _ground(scope: Scope, kube: Kube) -> Ground:
    def said(name: str, otherwise: Any) -> Any:
        return _value(scope, f"train_{name}", otherwise)

    plain = Ground()
    found = Ground(
        namespace=str(said("namespace", "") or kube.namespace or "default"),
        image=str(said("image", "")),
        python=str(said("pod_python", plain.python)),
        pull_policy=str(said("pull_policy", plain.pull_policy)),
        claim=str(said("claim", "")),
        mount=str(said("mount", plain.mount)).rstrip("/"),
        service_account=str(said("service_account", "")),
        priority_class=str(said("priority_class", "")),
        queue=str(said("queue", plain.queue)),
        rendezvous=str(said("rendezvous", plain.rendezvous)),
        etcd=str(said("etcd", plain.etcd)),
        port=int(said("port", plain.port)),
        code=str(said("code", plain.code)),
        interface=str(said("interface", plain.interface)),
        cacheset=str(said("cacheset", plain.cacheset)),
        autoscaled_nodes=int(said("autoscaled_nodes", 0)),
        instance_type=str(_value(scope, "instance_type", "")),
        node_selector={str(key): str(value) for key, value in said("node_selector", {}).items()},
        tolerations=tuple(said("tolerations", ())),
        hourly=float(said("hourly", 0)),
        patience_seconds=float(said("patience_seconds", plain.patience_seconds)),
    )
    _check(found)
    return found


def _check(ground: Ground) -> None:
    for name, value, known in (
        ("rendezvous", ground.rendezvous, ("c10d", "etcd")),
        ("code", ground.code, ("configmap", "image")),
        ("pull_policy", ground.pull_policy, ("Always", "IfNotPresent", "Never")),
    ):
        if value not in known:
            raise BadInput(f'train_{name} "{value}": it is {" or ".join(known)}')
    if not ground.mount.startswith("/"):
        raise BadInput(f'train_mount "{ground.mount}": it is a path inside the pods, as /data')


def _value(scope: Scope, name: str, otherwise: Any) -> Any:
    found = scope.lookup(name)
    return otherwise if found is MISSING or found is None else found
