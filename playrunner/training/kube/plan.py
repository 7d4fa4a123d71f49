"""From what the user asked for to a job on a cluster: profile, flags, inventory and nodes together.
Nothing is changed here."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import Any

from playrunner.errors import BadInput
from playrunner.kube.client.client import Kube
from playrunner.kube.client.optional import if_allowed
from playrunner.kube.client.resource import Resource
from playrunner.project import program
from playrunner.training.environment.compiler import compile_environment
from playrunner.training.environment.conflicts import conflicting_settings
from playrunner.training.environment.machine_facts import MachineFacts
from playrunner.training.environment.variable import Variable
from playrunner.training.given_secrets import with_secrets
from playrunner.training.kube.job_spec.dry_run import try_pod
from playrunner.training.kube.job_spec.gangs import gang_problems, in_gang, with_note
from playrunner.training.kube.job_spec.job import ClusterJob, elastic_bounds
from playrunner.training.kube.job_spec.names import new_id
from playrunner.training.kube.job_spec.node_capacity import look, nodes_hidden
from playrunner.training.kube.job_spec.sizing import RequestedNodes, share_of
from playrunner.training.kube.launchers import KINDS
from playrunner.training.kube.launchers.kind import Kind
from playrunner.training.kube.node_groups.grow import growth_left
from playrunner.training.kube.queueing import with_queue
from playrunner.training.kube.session import ClusterSession, ClusterSettings
from playrunner.training.request import (
    LaunchRefused,
    Request,
    check_bounds,
    check_name,
    default_name,
    refuse,
    wanted_nodes,
)
from trainer import errors as trainer_errors
from trainer.config import Profile
from trainer.rehearsal import VARIABLE
from trainer.validate import check

CLAIMS = Resource("v1", "PersistentVolumeClaim", "persistentvolumeclaims", True)
INDEXED_JOBS = (1, 24)
REHEARSED_PROCESSES = 4  # in all; of more, each node has one
SERVICES = Resource("v1", "Service", "services", True)
NAMESPACES = Resource("v1", "Namespace", "namespaces", False)


def plan(
    request: Request, profile: Profile, session: ClusterSession, launcher: str, replacing: str = ""
) -> ClusterJob:
    """The job that flags, profile, inventory and nodes make together; what cannot work is refused
    here, with the numbers."""
    name = check_name(request.name or default_name(request))
    kind = KINDS[launcher]
    settings = replace(
        session.settings, cacheset=session.settings.cacheset or default_name(request)
    )
    if not settings.image:
        raise BadInput(
            f"train_image is not set: give the image that trains in the inventory ({program()}"
            " nccl-image.build makes one)"
        )
    nodes = wanted_nodes(request, profile)
    if kind.replicas:
        check_bounds(nodes, profile)
    refuse(_operator(session.kube, kind), "cluster")
    hidden: dict[str, Any] = {"metadata": {}}  # it is there as far as the user can tell
    if not if_allowed(lambda: session.kube.get(NAMESPACES, "", settings.namespace), hidden):
        raise LaunchRefused(
            f'the cluster has no namespace "{settings.namespace}" (train_namespace); kubectl create'
            f" namespace {settings.namespace}"
        )
    refuse(checkpoint_problems(session.kube, settings, profile), "checkpoints")
    refuse(meeting_problems(session.kube, settings), "rendezvous")
    bounds = elastic_bounds(profile, launcher, nodes)
    requested = RequestedNodes(
        nodes,
        bounds[1] if bounds else nodes,
        _insisted(request, profile),
        lambda likes: growth_left(session, likes),
    )
    offered = [
        one
        for one in look(session.kube, replacing, settings.namespace)
        if one.name not in request.avoid
    ]
    if nodes_hidden(session.kube):
        settings = _unseen(profile, settings, requested)
    share = share_of(profile, offered, settings, requested)
    job = ClusterJob(
        name,
        new_id(name),
        request.profile,
        profile,
        launcher,
        nodes,
        settings,
        share,
        overrides=request.overrides,
        detached=request.detach,
        avoid=request.avoid,
        secrets=request.secrets,
    )
    _check(job)
    job = with_note(job, kind)
    if in_gang(job, kind):
        refuse(gang_problems(session.kube, job, kind), "queue")
    else:
        job, troubles = with_queue(session.kube, job, kind)
        refuse(troubles, "queue")
    environment = with_secrets(environment_of(job, session.environment), job.secrets)
    job = replace(job, environment=(*environment, *_rehearsal(job)))
    return try_pod(session.kube, job, bool(replacing))


def _unseen(
    profile: Profile, settings: ClusterSettings, requested: RequestedNodes
) -> ClusterSettings:
    """A user who may not see nodes says what they are; that there are enough is for the scheduler
    to find out."""
    if profile.train.device != "cpu" and not settings.instance_type:
        raise LaunchRefused(
            "the cluster's nodes cannot be seen by this user, so pods cannot be sized by them: set"
            " instance_type in the inventory (as p5.48xlarge), or --set train.device=cpu; the right"
            f" is in: {program()} kube.rights --for training"
        )
    return replace(settings, autoscaled_nodes=max(settings.autoscaled_nodes, requested.most))


def _operator(kube: Kube, kind: Kind) -> list[str]:
    """Whether the cluster knows this kind of job at all."""
    if kind.needs:
        return (
            []
            if kube.resource(*kind.resource)
            else [
                f"it has no {kind.resource[1]} of {kind.resource[0]}; run {kind.needs} first, or"
                " give --yes and the launch installs it"
            ]
        )
    version_info = kube.read("/version") or {}
    version = tuple(
        int("".join(filter(str.isdigit, str(version_info.get(part) or 0))) or 0)
        for part in ("major", "minor")
    )
    return (
        [
            f"its API server is {version_info.get('gitVersion')}, and Indexed Jobs came with"
            " v1.24; use"
            " --launcher pytorchjob or vcjob"
        ]
        if (0, 0) < version < INDEXED_JOBS
        else []
    )


def environment_of(job: ClusterJob, given: dict[str, str]) -> list[Variable]:
    """Every variable the processes get, by the same compiler as over SSH; known-bad ones are
    refused."""
    share = job.share
    machines = MachineFacts(
        device=share.device,
        launcher="torchrun",
        instance_type=share.instance_type,
        interface=job.settings.interface,
        efa_count=share.efa,
        cores=share.cores,
        processes_per_node=share.processes,
        dumps=job.output,
    )
    variables = compile_environment(
        asdict(job.profile), machines, given, profile_name=job.profile_name
    )
    refuse(conflicting_settings(variables, machines), "environment")
    return variables


def _rehearsal(job: ClusterJob) -> list[Variable]:
    """The job is submitted as it would be to a real cluster; its processes make it small."""
    if not job.settings.rehearsal_steps:
        return []
    processes = job.share.processes if job.world_size <= REHEARSED_PROCESSES else 1
    value = f"steps={job.settings.rehearsal_steps},processes={processes}"
    reason, source = "the sandbox's machines have no devices", "inventory: train_rehearsal_steps"
    return [Variable(VARIABLE, value, reason, source)]


def checkpoint_problems(kube: Kube, settings: ClusterSettings, profile: Profile) -> list[str]:
    """Checkpoints must outlive their pod and be seen by every other: a claim that many may write,
    or a store."""
    if not settings.claim:
        if "://" in profile.train.checkpoint.upload:
            return []
        return [
            f"they would die with their pods: set train_claim to a ReadWriteMany claim ({program()}"
            " efs.create, fsx.create or nfs.create make one), or --set"
            " train.checkpoint.upload=s3://BUCKET/RUN"
        ]
    claim = kube.get(CLAIMS, settings.namespace, settings.claim)
    where = f"claim {settings.claim} in namespace {settings.namespace}"
    if claim is None:
        return [
            f"there is no {where}: {program()} efs.create, fsx.create or nfs.create make one"
            " (kubectl"
            " get pvc -A shows all)"
        ]
    modes = (
        (claim.get("status") or {}).get("accessModes")
        or (claim.get("spec") or {}).get("accessModes")
        or []
    )
    if "ReadWriteMany" not in modes:
        return [
            f"the {where} is {', '.join(modes)}: pods on other nodes could not write to it; it must"
            " be ReadWriteMany"
        ]
    phase = (claim.get("status") or {}).get("phase")
    return (
        [
            f"the {where} is Lost: its volume is gone; kubectl describe pvc {settings.claim} -n"
            f" {settings.namespace}"
        ]
        if phase == "Lost"
        else []
    )


def meeting_problems(kube: Kube, settings: ClusterSettings) -> list[str]:
    """Pods that are to meet in etcd would look for a service that is not there until they give
    up. An address outside the cluster is left to them."""
    host = settings.etcd.rpartition(":")[0] or settings.etcd
    name, *rest = host.split(".")
    inside = not rest or rest[1:2] == ["svc"]
    if settings.rendezvous != "etcd" or not inside:
        return []
    namespace = rest[0] if rest else settings.namespace
    hidden: dict[str, Any] = {"metadata": {}}
    if if_allowed(lambda: kube.get(SERVICES, namespace, name), hidden):
        return []
    return [
        f"there is no service {name} in namespace {namespace} (train_etcd: {settings.etcd});"
        f" {program()} etcd.create --extra-vars etcd_namespace={namespace} makes it, or"
        " train_rendezvous: c10d needs none"
    ]


def _insisted(request: Request, profile: Profile) -> int:
    """Processes per node, where the user says so on the command line; else they are counted."""
    said = any(text.startswith("launch.processes_per_node=") for text in request.overrides)
    return profile.launch.processes_per_node if said else 0


def _check(job: ClusterJob) -> None:
    """An elastic job must hold on every number of nodes that it may have."""
    if job.profile.script:
        return  # its settings are its own
    least, most = job.elastic or (job.nodes, job.nodes)
    for nodes in (job.nodes, *range(least, most + 1)):
        try:
            check(job.profile, nodes * job.share.processes)
        except trainer_errors.TrainerError as error:
            raise BadInput(
                f"profile {job.profile_name} on {nodes} node{'s' * (nodes != 1)}: {error}"
                + (
                    f"; or keep it off {nodes} nodes with launch.min_nodes and launch.max_nodes"
                    if nodes != job.nodes
                    else ""
                )
            ) from None
