"""A cluster and the inventory's settings for runs on it: namespace, image, claim, queue."""

from __future__ import annotations

from dataclasses import field
from typing import Any

from playrunner.errors import BadInput
from playrunner.frozen import frozen
from playrunner.inventory.inventory import Inventory
from playrunner.kube.client.client import Cluster, Kube
from playrunner.kube.client.config import open_transport, settings_of
from playrunner.options import Options
from playrunner.ssh.sandbox_autostart import ensure_cloud_sandbox_running
from playrunner.training.inventory_scope import scope_of, value_of
from playrunner.training.quarantine_setting import QuarantineSetting, read_setting
from playrunner.variables.asked_inventory import open_inventory
from playrunner.variables.scope import Scope

PORT = 29500  # where torch's processes meet unless told otherwise
ETCD = "etcd-service:2379"


@frozen
class ClusterSettings:
    """The inventory's train_ settings; empty where it has none."""

    namespace: str = "default"
    image: str = ""
    python: str = "python3"
    pull_policy: str = "IfNotPresent"
    claim: str = ""  # a ReadWriteMany claim in the namespace
    mount: str = "/data"  # where pods see it
    service_account: str = ""
    priority_class: str = ""
    queue: str = "default"  # Volcano's
    scheduler: str = ""  # volcano: PyTorchJobs are gangs, too
    kueue_queue: str = ""  # Kueue's LocalQueue, where the inventory names one
    rendezvous: str = "c10d"  # or etcd
    etcd: str = ETCD
    port: int = PORT
    code: str = "configmap"  # or image: it is in there already
    interface: str = "eth0"  # a pod's, with nearly every network plugin
    cacheset: str = ""  # Neuron's compiled graphs are kept under it; "" is the profile's name
    autoscaled_nodes: int = 0  # so many nodes come when they are needed
    instance_type: str = ""  # of nodes that are still to come
    node_selector: dict[str, str] = field(default_factory=dict)
    # Of jobs that need no device: data staged or looked for, models exported
    job_node_selector: dict[str, str] = field(default_factory=dict)
    tolerations: tuple[dict[str, Any], ...] = ()
    hourly: float = 0.0  # one node
    # An operator that restarts, or moves to another node, is back by then
    patience_seconds: float = 300.0
    resources: dict[str, str] = field(default_factory=dict)  # cpu, memory, ephemeral-storage
    security: str = "auto"  # restricted where the namespace wants it; or restricted, none
    user: int = 1000  # whose rights a restricted pod has
    huge_pages: bool = False  # whether FI_EFA_USE_HUGE_PAGE lets libfabric use them
    quarantine: QuarantineSetting = field(default_factory=QuarantineSetting)
    # Of a whole profile on the sandbox's cluster, whose machines have no devices; 0 is no rehearsal
    rehearsal_steps: int = 0

    @property
    def root(self) -> str:
        """The folder of runs in a pod: on the claim, else on the pod's own disk (a store then holds
        the checkpoints)."""
        return self.mount if self.claim else "/tmp/playrunner"


@frozen
class ClusterSession:
    """An inventory and its cluster."""

    inventory: Inventory
    kube: Kube
    settings: ClusterSettings
    environment: dict[str, str]
    scope: Scope


def open_session(options: Options) -> ClusterSession:
    """The cluster that the inventory names, reached when first asked something; a sandbox's is
    started when it is not up."""
    inventory = open_inventory(options)
    if not options.kubeconfig:
        ensure_cloud_sandbox_running(inventory, ["k8s.manifest"])
    scope = scope_of(inventory, options)
    settings = settings_of(lambda name: value_of(scope, name, ""))
    kube = Kube(Cluster(lambda: open_transport(settings, scope)))
    given = value_of(scope, "train_environment", {})
    if not isinstance(given, dict):
        raise BadInput("train_environment must be a mapping of names to values")
    environment = {str(name): str(value) for name, value in given.items()}
    return ClusterSession(inventory, kube, _settings(scope, kube), environment, scope)


def _settings(scope: Scope, kube: Kube) -> ClusterSettings:
    def setting(name: str, otherwise: Any) -> Any:
        return value_of(scope, f"train_{name}", otherwise)

    plain = ClusterSettings()
    settings = ClusterSettings(
        namespace=str(setting("namespace", "") or kube.namespace or "default"),
        image=str(setting("image", "")),
        python=str(setting("pod_python", plain.python)),
        pull_policy=str(setting("pull_policy", plain.pull_policy)),
        claim=str(setting("claim", "")),
        mount=str(setting("mount", plain.mount)).rstrip("/"),
        service_account=str(setting("service_account", "")),
        priority_class=str(setting("priority_class", "")),
        queue=str(setting("queue", "") or plain.queue),
        scheduler=str(setting("scheduler", "")),
        kueue_queue=str(setting("queue", "")),
        rendezvous=str(setting("rendezvous", plain.rendezvous)),
        etcd=str(setting("etcd", plain.etcd)),
        port=int(setting("port", plain.port)),
        code=str(setting("code", plain.code)),
        interface=str(setting("interface", plain.interface)),
        cacheset=str(setting("cacheset", plain.cacheset)),
        autoscaled_nodes=int(setting("autoscaled_nodes", 0)),
        instance_type=str(value_of(scope, "instance_type", "")),
        node_selector={str(key): str(value) for key, value in setting("node_selector", {}).items()},
        job_node_selector={
            str(key): str(value)
            for key, value in setting("job_node_selector", setting("node_selector", {})).items()
        },
        tolerations=tuple(setting("tolerations", ())),
        hourly=float(setting("hourly", 0)),
        patience_seconds=float(setting("patience_seconds", plain.patience_seconds)),
        resources={str(name): str(value) for name, value in setting("resources", {}).items()},
        security=str(setting("security", plain.security)),
        user=int(setting("user", plain.user)),
        huge_pages=_uses_huge_pages(setting("environment", {})),
        quarantine=read_setting(setting("quarantine", "")),
        rehearsal_steps=int(setting("rehearsal_steps", 0)),
    )
    _check(settings)
    if settings.rehearsal_steps and not value_of(scope, "sandbox_state", ""):
        raise BadInput(
            "train_rehearsal_steps is for the sandbox (--inventory local): on a cluster of yours a"
            " profile trains as it is"
        )
    return settings


def _uses_huge_pages(environment: Any) -> bool:
    """The environment compiler turns them off, unless the user turns them on."""
    said = (
        str(environment.get("FI_EFA_USE_HUGE_PAGE", "0")) if isinstance(environment, dict) else ""
    )
    return said not in ("", "0")


def _check(settings: ClusterSettings) -> None:
    for name, value, known in (
        ("rendezvous", settings.rendezvous, ("c10d", "etcd")),
        ("code", settings.code, ("configmap", "image")),
        ("scheduler", settings.scheduler or "volcano", ("volcano",)),
        ("security", settings.security, ("auto", "restricted", "none")),
        ("pull_policy", settings.pull_policy, ("Always", "IfNotPresent", "Never")),
    ):
        if value not in known:
            raise BadInput(f'train_{name} "{value}": it is {" or ".join(known)}')
    if not settings.mount.startswith("/"):
        raise BadInput(f'train_mount "{settings.mount}": it is a path inside the pods, as /data')
