"""From what the user asked for to a job: profile, flags and inventory together. Nothing is changed
here."""

from __future__ import annotations

from dataclasses import asdict

from playrunner.errors import BadInput
from playrunner.options import Options
from playrunner.project import program
from playrunner.ssh.fleet import Fleet
from playrunner.training.environment.compiler import compile_environment
from playrunner.training.environment.conflicts import conflicting_settings
from playrunner.training.environment.machine_facts import MachineFacts
from playrunner.training.environment.variable import Variable
from playrunner.training.given_secrets import secret_variables, with_secrets
from playrunner.training.request import Request, check_name, default_name, refuse, wanted_nodes
from playrunner.training.ssh.job import (
    LEASE_SECONDS,
    Job,
    NodeSlot,
    check_job,
    new_run_id,
    with_ranks,
)
from playrunner.training.ssh.launchers import LAUNCHERS
from playrunner.training.ssh.network.expected import expected_links
from playrunner.training.ssh.nodes.hosts import python_of, root_of, training_hosts, usable_hosts
from playrunner.training.ssh.nodes.preflight import Facts
from trainer.config import Profile


def plan(request: Request, profile: Profile, fleet: Fleet, options: Options) -> Job:
    """The job that the profile, the flags and the inventory make together."""
    name = check_name(request.name or default_name(request))
    own = profile.launch.launcher
    launcher = request.launcher or (own if own in LAUNCHERS else "torchrun")
    if launcher not in LAUNCHERS:
        raise BadInput(f'--launcher "{launcher}": it is one of {", ".join(LAUNCHERS)}')
    nodes = _choose_nodes(
        fleet, wanted_nodes(request, profile), profile.launch.processes_per_node, options
    )
    hourly = sum(float(fleet.variable(node.host, "train_hourly", 0)) for node in nodes)
    job = Job(
        name,
        new_run_id(name),
        request.profile,
        profile,
        launcher,
        nodes,
        detached=request.detach,
        hourly=hourly,
        overrides=request.overrides,
        gate=request.gate,
        expected=expected_links(fleet, nodes[0].host).text,
        shared=_shared(fleet, nodes[0].host),
        share_devices=bool(fleet.variable(nodes[0].host, "train_share_devices", False)),
        secrets=request.secrets,
        lease_seconds=float(fleet.variable(nodes[0].host, "train_lease_seconds", LEASE_SECONDS)),
    )
    check_job(job)
    secret_variables(job.secrets)  # one that is missing is refused here
    return job


def environment_of(job: Job, fleet: Fleet, facts: Facts) -> list[Variable]:
    """Every variable the processes get; known-bad ones are refused."""
    host = job.master.host
    first = facts.get(host, {})
    machines = MachineFacts(
        device=(
            "cpu"
            if job.profile.train.device == "cpu"
            else first.get("devices", {}).get("kind", "cpu")
        ),
        launcher=job.launcher,
        instance_type=str(fleet.variable(host, "instance_type", "")),
        interface=str(fleet.variable(host, "train_interface", "") or first.get("interface", "")),
        cores=int(first.get("cores") or 1),
        processes_per_node=job.master.slots,
        nodes=len(job.nodes),
        dumps=_dumps(job),
        loopback=all(node.address.startswith("127.") for node in job.nodes),
    )
    given = fleet.variable(host, "train_environment", {})
    if not isinstance(given, dict):
        raise BadInput("train_environment must be a mapping of names to values")
    variables = compile_environment(
        asdict(job.profile),
        machines,
        {str(name): str(value) for name, value in given.items()},
        profile_name=job.profile_name,
    )
    refuse(conflicting_settings(variables, machines), "environment")
    return with_secrets(variables, job.secrets)


def _dumps(job: Job) -> str:
    """Where torch leaves what it knew of a collective that timed out; nowhere, where that is not
    one place on all nodes."""
    roots = {node.root for node in job.nodes}
    return (
        f"{job.folder(job.master)}/output"
        if len(roots) == 1 and job.master.root.startswith("/")
        else ""
    )


def _shared(fleet: Fleet, host: str) -> bool:
    """Whether the inventory wants all nodes to see one folder; left alone, it is found out."""
    given = fleet.variable(host, "train_shared", "auto")
    if isinstance(given, bool):
        return given
    if str(given) not in ("auto", "yes", "no"):
        raise BadInput(f'train_shared "{given}": it is yes (all nodes must see one folder) or auto')
    return str(given) == "yes"


def _choose_nodes(fleet: Fleet, count: int, slots: int, options: Options) -> tuple[NodeSlot, ...]:
    hosts = usable_hosts(fleet, options)
    if len(hosts) < count:
        aside = [host for host in training_hosts(fleet, options) if host not in hosts]
        why = (
            f"; in quarantine: {', '.join(aside)} ({program()} nodes.list shows why, nodes.release"
            " ends"
            " it)"
            if aside
            else ""
        )
        raise BadInput(
            f"{count} nodes are requested and the inventory has {len(hosts)} for training"
            f" ({', '.join(hosts) or 'none'}); use --nodes, or add hosts to the group that"
            f" train_hosts names{why}"
        )

    def node(host: str) -> NodeSlot:
        address = fleet.variable(host, "train_address") or fleet.target(host).address
        return NodeSlot(
            host,
            str(address),
            int(fleet.variable(host, "train_slots", slots)),
            root_of(fleet, host),
            python_of(fleet, host),
        )

    return with_ranks([node(host) for host in hosts[:count]])
