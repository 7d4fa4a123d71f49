"""gcp.gke_nodepool: machines of one kind that GKE starts and joins to a cluster, as many as pods
need or a fixed number."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from playrunner.hostside.module import Failed
from playrunner.hostside.state import Change, State
from playrunner.modules.gcp import _gke
from playrunner.modules.gcp._base import with_marks
from playrunner.modules.gcp._pool import Pool

if TYPE_CHECKING:
    from playrunner.run.context import Context

GPU_TAINT = "nvidia.com/gpu"  # GKE's own, on machines with GPUs
_FIXED = ("machineType", "diskSizeGb", "diskType", "spot", "imageType")


class GkeNodepool(_gke.GkeModule):
    """A node pool. Its size, scaling, labels and taints are changed in place; machines and
    accelerators are fixed."""

    identity: ClassVar[tuple[str, ...]] = ("cluster", "name", "location")
    # GKE tries for long before it says that a zone has no machines
    settle_seconds: ClassVar[float] = 3600

    cluster: str  # the cluster's name
    name: str  # the pool's name
    machine_type: str  # as e2-standard-4, a2-highgpu-8g
    location: str = ""  # the cluster's zone or region; by default the inventory's gcp_zone
    # How many in each zone; with scaling only to begin with, by default min_nodes
    nodes: int | None = None
    min_nodes: int | None = None  # with max_nodes: scaled by GKE, never fewer in a zone; may be 0
    max_nodes: int | None = None  # never more in a zone; without it the pool is not scaled
    accelerator: str = ""  # as nvidia-tesla-a100
    accelerators: int = 0  # how many in each machine
    # Have GKE install the GPU driver: DEFAULT or LATEST; by default the role
    # gke_driver does
    driver: str = ""
    disk_gib: int = 100  # of the root disk
    disk_type: str = "pd-balanced"  # of the root disk: pd-standard, pd-balanced or pd-ssd
    spot: bool = False  # cheaper machines that may be reclaimed
    image_type: str = "COS_CONTAINERD"  # the nodes' system
    labels: dict[str, str] = {}  # Kubernetes labels of its nodes
    taints: list[
        dict[str, str]
    ] = []  # key, value, effect (NoSchedule, NoExecute, PreferNoSchedule), beside GKE's own
    service_account: str = ""  # by which nodes work in the project; by default the project's own
    locations: list[str] = []  # the zones of its nodes; by default the cluster's
    workload_identity: bool = True  # whether its pods may have service accounts of Google's
    replace: bool = False  # delete and create it again where something fixed differs

    @classmethod
    def check(cls, arguments: dict[str, Any]) -> str | None:
        if "name" not in arguments:  # one that is only looked for may be known in part
            return None
        least, most = arguments.get("min_nodes"), arguments.get("max_nodes")
        if least is not None and most is None:
            return "min_nodes needs max_nodes beside it"
        if most is not None and (most < 1 or most < (least or 0)):
            return f"max_nodes must be at least 1 and not less than min_nodes, not {most}"
        if bool(arguments.get("accelerator")) != bool(arguments.get("accelerators")):
            return "accelerator and accelerators belong together"
        return None

    def observe(self, ctx: Context) -> State | None:
        pool = ctx.gcp.read("container", self._path(ctx))
        if not pool:
            return None
        state = observed(pool)
        if self.nodes is not None and not state["autoscaling"]["enabled"]:
            state["size"] = self._size(ctx, pool)
        return state

    def desired(self, ctx: Context, current: State | None) -> State:
        pool = self._pool()
        wanted: State = {
            "autoscaling": pool.scaling,
            "labels": dict(self.labels),
            "taints": _in_order(pool.taint_list),
            **pool.config,
            "accelerators": _cards(pool.cards),
        }
        if current is not None:
            # One that is to go is said to be nothing, so that it shows.
            wanted["labels"] = {**dict.fromkeys(current["labels"]), **wanted["labels"]}
        if not pool.scaling["enabled"] and self.nodes is not None:
            wanted["size"] = self.nodes
        self._refuse_fixed(current, wanted)
        return wanted

    def apply(self, ctx: Context, change: Change) -> None:
        current, wanted = change.observed, change.after or {}
        if change.removes or (
            current and (_gke.never_was(current) or _differences(current, wanted))
        ):
            self.ask(ctx, "DELETE", self._path(ctx))
        elif current is None:
            labels = with_marks(ctx, Change(None, {"resourceLabels": {}}, None), "resourceLabels")
            self.ask(
                ctx,
                "POST",
                self._path(ctx).rpartition("/")[0],
                {"nodePool": self._pool().document(labels)},
            )
        else:
            self._update(ctx, change)

    def labels_of(self, state: State) -> dict[str, str]:
        return dict(state.get("resourceLabels") or {})

    def broken(self, state: State) -> str | None:
        problem = super().broken(state)
        return f"node pool {self.name} is {problem}" if problem else None

    def label(self, state: State) -> str:
        return f"{self.cluster}/{state.get('name', self.name)}"

    def _update(self, ctx: Context, change: Change) -> None:
        """One update at a time, as GKE takes them."""
        wanted, path = change.after or {}, self._path(ctx)
        if change.touches("autoscaling"):
            self.ask(ctx, "POST", f"{path}:setAutoscaling", {"autoscaling": wanted["autoscaling"]})
        elif "size" in wanted and change.touches("size"):
            self.ask(ctx, "POST", f"{path}:setSize", {"nodeCount": wanted["size"]})
        elif change.touches("labels"):
            labels = {name: value for name, value in wanted["labels"].items() if value is not None}
            self.ask(ctx, "PUT", path, {"labels": {"labels": labels}})
        elif change.touches("taints"):
            kept = [
                taint
                for taint in (change.observed or {})["all_taints"]
                if taint["key"] == GPU_TAINT
            ]
            self.ask(ctx, "PUT", path, {"taints": {"taints": [*wanted["taints"], *kept]}})

    def _refuse_fixed(self, current: State | None, wanted: State) -> None:
        differing = _differences(current, wanted) if current and not _gke.never_was(current) else []
        if differing and not self.replace:
            raise Failed(
                f"node pool {self.name} cannot be changed in place ({'; '.join(differing)}); set"
                " replace: true (its nodes are drained and replaced), or give the new one another"
                " name"
            )

    def _pool(self) -> Pool:
        names = (
            "machine_type",
            "min_nodes",
            "max_nodes",
            "accelerator",
            "accelerators",
            "driver",
            "disk_gib",
            "disk_type",
            "spot",
            "image_type",
            "labels",
            "taints",
            "service_account",
            "locations",
            "workload_identity",
        )
        count = (
            self.nodes
            if self.nodes is not None
            else (self.min_nodes or 0)
            if self.max_nodes is not None
            else 1
        )
        return Pool.read(
            {"name": self.name, "nodes": count, **{name: getattr(self, name) for name in names}}
        )

    def _size(self, ctx: Context, pool: State) -> int | None:
        """How many there shall be in a zone now; the pool itself only tells how many there were to
        be at first."""
        groups = [
            str(url).partition("/projects/")[2] for url in pool.get("instanceGroupUrls") or ()
        ]
        group = ctx.gcp.read("compute", f"projects/{groups[0]}") if groups else None
        return int(group["targetSize"]) if group else None

    def _path(self, ctx: Context) -> str:
        return f"{_gke.cluster_path(ctx, self.location, self.cluster)}/nodePools/{self.name}"


def observed(pool: State) -> State:
    """A pool as GKE describes it, with what is declared at the top, and GKE's own taint apart."""
    config, scaling = pool.get("config") or {}, pool.get("autoscaling") or {}
    every = [dict(taint) for taint in config.get("taints") or ()]
    on: State = {
        "enabled": True,
        "minNodeCount": scaling.get("minNodeCount", 0),
        "maxNodeCount": scaling.get("maxNodeCount", 0),
    }
    return {
        **pool,
        **{name: config.get(name) for name in _FIXED},
        "spot": bool(config.get("spot")),
        "autoscaling": on if scaling.get("enabled") else {"enabled": False},
        "labels": dict(config.get("labels") or {}),
        "taints": _in_order([taint for taint in every if taint["key"] != GPU_TAINT]),
        "all_taints": every,
        "accelerators": _cards(config.get("accelerators") or ()),
        "resourceLabels": dict(config.get("resourceLabels") or {}),
    }


def _differences(current: State, wanted: State) -> list[str]:
    return [
        f"{name} is {current.get(name)} and {wanted[name]} is declared"
        for name in (*_FIXED, "accelerators")
        if name in wanted and current.get(name) != wanted[name]
    ]


def _cards(accelerators: Any) -> list[str]:
    return [f"{card['acceleratorCount']} x {card['acceleratorType']}" for card in accelerators]


def _in_order(taints: list[State]) -> list[State]:
    return sorted(taints, key=lambda taint: (taint["key"], taint["effect"]))
