"""nccl-image.bench in a cluster: a job that measures, its words brought back, and nothing left of
it afterwards."""

from __future__ import annotations

import sys
import time
from collections import Counter
from dataclasses import asdict
from typing import Any

from playrunner.errors import BadInput, PlayrunnerError
from playrunner.kube.client.client import Kube
from playrunner.kube.client.errors import KubeError
from playrunner.kube.client.resource import Resource
from playrunner.kube.watch.explain import PODS
from playrunner.options import Options
from playrunner.project import program
from playrunner.training.environment.compiler import compile_environment
from playrunner.training.environment.machine_facts import MachineFacts
from playrunner.training.inventory_scope import launcher_of
from playrunner.training.kube.bench import bench_job, prove
from playrunner.training.kube.job_spec.names import new_id
from playrunner.training.kube.job_spec.node_capacity import NodeCapacity, look
from playrunner.training.kube.launchers import KINDS
from playrunner.training.kube.network.bandwidth_manifests import (
    EFA,
    GPU,
    Bench,
    mpi_job,
    pytorch_job,
)
from playrunner.training.kube.network.pool import ClusterPool
from playrunner.training.kube.session import ClusterSession, open_session
from playrunner.training.netcheck.conclusion import tell
from playrunner.training.netcheck.errors import NoResult, NotMeasured
from playrunner.training.netcheck.judgement import ExpectedBandwidth, judge_bandwidth
from playrunner.training.netcheck.perf_table import read_table
from playrunner.training.netcheck.sizes import DEFAULT_PROFILE, Sizes
from playrunner.training.netcheck.spares import Search, should_retry
from playrunner.training.quarantine_setting import SUGGEST
from playrunner.training.request import Request, read_request
from playrunner.variables.templating import MISSING
from trainer.profile import read_profile

JOBS = {"mpijob": (mpi_job, "mpijobs"), "pytorchjob": (pytorch_job, "pytorchjobs")}
COMMAND = "nccl-image.bench"
LIMIT_SECONDS = 3600.0  # the image is several gigabytes, and is pulled first
LOOK_SECONDS = 1.0


def bench_in_cluster(image: str, job: str, nodes: int, sizes: Sizes, options: Options) -> int:
    """A node that causes a bad figure is named; where train_quarantine says so it is quarantined,
    and it is measured again without it."""
    if job not in JOBS:
        raise BadInput(f'--job "{job}": it is {" or ".join(JOBS)}')
    started, search = time.monotonic(), Search(COMMAND)
    while True:
        session = open_session(options)
        output, wanted = _once(image, job, nodes, sizes, session)
        good = wanted.hosts < 2 or judge_bandwidth(read_table(output), wanted).ok
        if good or not _again(
            search, wanted.hosts, nodes, _launcher(options, job), image, session, options
        ):
            return tell(output, wanted, COMMAND, time.monotonic() - started, options)


def _launcher(options: Options, job: str) -> str:
    """The kind of job that searches for a bad node: the inventory's own, else one that the cluster
    has anyway."""
    chosen = launcher_of(options)
    return chosen if chosen in KINDS else "pytorchjob" if job == "pytorchjob" else "job"


def _once(
    image: str, job: str, nodes: int, sizes: Sizes, session: ClusterSession
) -> tuple[str, ExpectedBandwidth]:
    """What the job printed, and what it should have."""
    offered = [
        offer for offer in look(session.kube, namespace=session.settings.namespace) if offer.usable
    ]
    on_gpus = [offer for offer in offered if offer.has.get(GPU, 0)]
    if job == "mpijob" and not on_gpus:
        raise BadInput(
            "no node of the cluster offers nvidia.com/gpu, which nccl-tests measures with; --job"
            f" pytorchjob goes without, or run: {program()} nvidia.create"
        )
    chosen = on_gpus or offered
    if not chosen or nodes > len(chosen):
        raise BadInput(
            f"{nodes or 1} nodes are requested, and the cluster has {len(chosen)} that can be used"
        )
    bench = _bench(image, nodes or len(chosen), sizes, chosen, session)
    make, plural = JOBS[job]
    manifest = make(bench)
    resource = Resource(manifest["apiVersion"], manifest["kind"], plural, True)
    said = session.scope.lookup("train_expected_bus_gbytes")
    wanted = ExpectedBandwidth(
        _kind(chosen),
        bench.nodes,
        float(said) if said is not MISSING and said is not None else None,
        over_nccl=bool(bench.gpus),
    )
    return _measured(session.kube, resource, manifest, bench), wanted


def _again(
    search: Search,
    count: int,
    nodes: int,
    launcher: str,
    image: str,
    session: ClusterSession,
    options: Options,
) -> bool:
    """Search for the node to blame, by the gate as a job of its own; whether it is worth measuring
    again."""
    request = Request(DEFAULT_PROFILE, nodes=nodes or 2)
    try:
        result, verdict = prove(
            bench_job(session, launcher, count, read_request(request), image), session, options
        )
    except NoResult as error:
        print(
            f"no node could be told from the others: {error}", file=sys.stderr
        )  # the figures are still worth telling
        return False
    if verdict.ok:
        return False
    pool = ClusterPool(request, session, launcher)
    if pool.mode == SUGGEST:
        if verdict.culprits:
            print(
                f"{'; '.join(verdict.lines)}\nto keep work away from it and measure again:"
                f" {program()} nodes.quarantine {','.join(verdict.culprits)}",
                file=sys.stderr,
            )
        return False
    return should_retry(search, verdict, list(result["nodes"]), pool)


def _bench(
    image: str, nodes: int, sizes: Sizes, chosen: list[NodeCapacity], session: ClusterSession
) -> Bench:
    """Every device that the poorest of the nodes has."""
    gpus = int(min(offer.has.get(GPU, 0) for offer in chosen))
    cards = int(min(offer.has.get(EFA, 0) for offer in chosen))
    name, settings = new_id("bandwidth"), session.settings
    machines = MachineFacts(
        device="cuda" if gpus else "cpu",
        launcher="torchrun",
        instance_type=_kind(chosen),
        efa_count=cards,
        interface=settings.interface,
        processes_per_node=max(gpus, 1),
    )
    profile = asdict(read_profile(DEFAULT_PROFILE, ()))
    environment = {
        each.name: each.value
        for each in compile_environment(profile, machines, session.environment)
        if not each.secret and each.value
    }
    pod: dict[str, Any] = {
        "nodeSelector": settings.node_selector,
        "tolerations": _tolerations(chosen, settings.tolerations),
        "serviceAccountName": settings.service_account,
    }
    marks = {"app.kubernetes.io/managed-by": "playrunner", "playrunner.io/bench": name}
    return Bench(
        name,
        settings.namespace,
        image,
        nodes,
        max(gpus, 1),
        tuple(sizes.flags(bool(gpus))),
        gpus,
        cards,
        environment,
        marks,
        {key: value for key, value in pod.items() if value},
        settings.pull_policy,
        settings.python,
    )


def _measured(kube: Kube, resource: Resource, manifest: dict[str, Any], bench: Bench) -> str:
    """What the job's first pod printed; the job is deleted in any case."""
    path = resource.path(bench.namespace, bench.name)
    try:
        kube.call("POST", resource.path(bench.namespace), manifest)
    except KubeError as error:
        hint = (
            f"{program()} kubeflow.create installs PyTorchJobs; MPIJobs need the MPI operator"
            if error.not_found
            else ""
        )
        raise NotMeasured(f"{error}{f'; {hint}' if hint else ''}") from None
    try:
        state = _ended(kube, path, bench)
        return (
            "\n".join(_log(kube, pod, bench) for pod in _speakers(kube, bench)) + f"\n# {state}\n"
        )
    finally:
        kube.call("DELETE", path, {"propagationPolicy": "Foreground"})


def _ended(kube: Kube, path: str, bench: Bench) -> str:
    deadline = time.monotonic() + LIMIT_SECONDS
    while time.monotonic() < deadline:
        said = (kube.call("GET", path).get("status") or {}).get("conditions") or ()
        conditions = {each["type"]: each for each in said if each["status"] == "True"}
        for name in ("Succeeded", "Failed"):
            if name in conditions:
                return f"{name}: {conditions[name].get('message', '')}"
        time.sleep(LOOK_SECONDS)
    raise NotMeasured(
        f"the job {bench.namespace}/{bench.name} has not ended after {LIMIT_SECONDS:g} s and is"
        f" deleted; see: kubectl get pods,events -n {bench.namespace}"
    )


def _speakers(kube: Kube, bench: Bench) -> list[dict[str, Any]]:
    """The launcher of an MPIJob, or the master of a PyTorchJob: it alone prints the table."""
    kube.refresh()
    selector = ",".join(f"{key}={value}" for key, value in bench.labels.items())
    pods = kube.listing(PODS, bench.namespace, selector).items
    return [
        pod
        for pod in pods
        if "-launcher" in pod["metadata"]["name"] or pod["metadata"]["name"].endswith("-master-0")
    ]


def _log(kube: Kube, pod: dict[str, Any], bench: Bench) -> str:
    try:
        return kube.text(PODS.path(bench.namespace, pod["metadata"]["name"]) + "/log")
    except PlayrunnerError as error:
        raise NotMeasured(f"what {pod['metadata']['name']} said cannot be read: {error}") from None


def _kind(chosen: list[NodeCapacity]) -> str:
    """The type that most of the nodes are of."""
    return Counter(offer.instance_type for offer in chosen).most_common(1)[0][0]


def _tolerations(
    chosen: list[NodeCapacity], given: tuple[dict[str, Any], ...]
) -> list[dict[str, Any]]:
    """Nodes with devices are tainted against other pods."""
    keys = sorted(
        {key for offer in chosen for key, _, effect in offer.taints if effect == "NoSchedule"}
    )
    return [
        *(
            {"key": key, "operator": "Exists", "effect": "NoSchedule"}
            for key in keys
            if key in (GPU, EFA)
        ),
        *given,
    ]
