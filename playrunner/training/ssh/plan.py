"""From what the user asked for to a job: profile, flags and inventory together. Nothing is touched
here."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import cast

from playrunner.errors import BadInput, PlayrunnerError
from playrunner.options import Options
from playrunner.ssh.fleet import Fleet
from playrunner.training.environment.compiler import Site, Variable, compile_environment, quarrels
from playrunner.training.ssh.hosts import root_of, training_hosts, usable_hosts
from playrunner.training.ssh.job import (
    LAUNCHERS,
    LEASE_SECONDS,
    Job,
    Launcher,
    Seat,
    check_job,
    check_name,
    new_run_id,
    profile_of,
    seated,
)
from playrunner.training.ssh.preflight import Facts
from trainer.config import Profile

DEFAULT_PYTHON = "python3"


class LaunchRefused(PlayrunnerError):
    """Preflight, gate or environment stand in the way."""

    exit_code = 6


@dataclass(frozen=True)
class Request:
    """What the user asked for."""

    profile: str
    name: str = ""
    nodes: int = 0
    overrides: tuple[str, ...] = ()
    launcher: str = ""
    detach: bool = False
    replace: bool = False
    gate: bool = True
    stage_only: bool = False


def wanted_nodes(request: Request, profile: Profile) -> int:
    if request.nodes < 0:
        raise BadInput(f"--nodes must be 1 or more, not {request.nodes}")
    return request.nodes or profile.launch.nodes


def read_request(request: Request) -> Profile:
    if not request.profile:
        raise BadInput(
            "--profile is missing: a name from trainer/profiles (gpt2-micro-smoke trains in"
            " seconds), or a YAML file"
        )
    return profile_of(request.profile, request.overrides)


def plan(request: Request, profile: Profile, fleet: Fleet, options: Options) -> Job:
    """The job that the profile, the flags and the inventory make together."""
    name = check_name(request.name or run_name(request.profile))
    own = profile.launch.launcher
    launcher = request.launcher or (own if own in LAUNCHERS else "torchrun")
    if launcher not in LAUNCHERS:
        raise BadInput(f'--launcher "{launcher}": it is one of {", ".join(LAUNCHERS)}')
    seats = _seats(
        fleet, wanted_nodes(request, profile), profile.launch.processes_per_node, options
    )
    hourly = sum(float(fleet.variable(seat.host, "train_hourly", 0)) for seat in seats)
    job = Job(
        name,
        new_run_id(name),
        request.profile,
        profile,
        cast(Launcher, launcher),
        seats,
        detached=request.detach,
        hourly=hourly,
        overrides=request.overrides,
        gate=request.gate,
        shared=_shared(fleet, seats[0].host),
        share_devices=bool(fleet.variable(seats[0].host, "train_share_devices", False)),
        lease_seconds=float(fleet.variable(seats[0].host, "train_lease_seconds", LEASE_SECONDS)),
    )
    check_job(job)
    return job


def environment_of(job: Job, fleet: Fleet, facts: Facts) -> list[Variable]:
    """Every variable the processes get; known-bad ones are refused."""
    host = job.master.host
    first = facts.get(host, {})
    site = Site(
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
        dumps=_dumps(job),
        loopback=all(seat.address.startswith("127.") for seat in job.seats),
    )
    given = fleet.variable(host, "train_environment", {})
    if not isinstance(given, dict):
        raise BadInput("train_environment must be a mapping of names to values")
    variables = compile_environment(
        asdict(job.profile),
        site,
        {str(name): str(value) for name, value in given.items()},
        profile_name=job.profile_name,
    )
    refuse(quarrels(variables, site), "environment")
    return variables


def refuse(complaints: list[str], stage: str) -> None:
    if complaints:
        raise LaunchRefused(f"{stage}: " + "\n       ".join(complaints))


def run_name(profile: str) -> str:
    """The name a run gets when none is given: its profile's."""
    return profile.rpartition("/")[2].removesuffix(".yaml").replace("_", "-").lower()


def _dumps(job: Job) -> str:
    """Where torch leaves what it knew of a collective that timed out; nowhere, where that is not
    one place on all nodes."""
    roots = {seat.root for seat in job.seats}
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


def _seats(fleet: Fleet, count: int, slots: int, options: Options) -> tuple[Seat, ...]:
    hosts = usable_hosts(fleet, options)
    if len(hosts) < count:
        aside = [host for host in training_hosts(fleet, options) if host not in hosts]
        why = (
            f"; in quarantine: {', '.join(aside)} (invoke nodes.list tells why, nodes.release lets"
            " one out)"
            if aside
            else ""
        )
        raise BadInput(
            f"{count} nodes are wanted and the inventory has {len(hosts)} for training"
            f" ({', '.join(hosts) or 'none'}); use --nodes, or add hosts to the group that"
            f" train_hosts names{why}"
        )

    def seat(host: str) -> Seat:
        address = fleet.variable(host, "train_address") or fleet.target(host).address
        venv = fleet.variable(host, "train_venv")
        python = str(
            fleet.variable(host, "train_python", f"{venv}/bin/python" if venv else DEFAULT_PYTHON)
        )
        return Seat(
            host,
            str(address),
            int(fleet.variable(host, "train_slots", slots)),
            root_of(fleet, host),
            python,
        )

    return seated([seat(host) for host in hosts[:count]])
