"""create, check, status and delete: the verbs that every role has."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from invoke.tasks import Task

from playrunner.commands.flags import RUN_FLAGS, Flag, FlagSet, options_from, pick, verb
from playrunner.errors import BadInput

if TYPE_CHECKING:
    from invoke.context import Context

    from playrunner.model import Play

CREATE = FlagSet(
    {
        **RUN_FLAGS,
        "ttl": Flag("", "time to live, as 8h or 3d: sets the expiry that `audit --expired` reads"),
        "max-hourly": Flag("", "fail before creating anything if the plan costs more USD per hour"),
    }
)
_LOOK = ("inventory", "extra-vars", "kubeconfig", "json", "no-wait", "verbose")
LOOK = pick(*_LOOK)
DELETE = pick(*_LOOK, "check", "yes")
KEPT = {"with-kept": "also delete what is kept (buckets by default), with what is in it"}
OBJECTS = {"with-objects": "also delete jobs and other objects whose kinds the role defines"}
# What each role manages, for help texts; not read from the roles, so that `--list` stays quick.
_MANAGES = {
    "artifact_registry": "Artifact Registry repository",
    "bucket": "bucket for data and models",
    "efa": "EFA device plugin",
    "efs": "EFS file system",
    "eks": "EKS cluster",
    "elastic": "ElasticJob controller",
    "etcd": "etcd store for elastic jobs",
    "fsx": "FSx for Lustre file system",
    "gke": "GKE cluster",
    "gke_driver": "NVIDIA driver installer of GKE nodes",
    "jobset": "JobSet controller",
    "jumphost": "jump host",
    "kubeflow": "Kubeflow training operator",
    "kubeflow_trainer": "Kubeflow Trainer controller",
    "kueue": "Kueue controller and its queues",
    "nccl_image": "training images",
    "network": "VPC network",
    "neuron": "Neuron device plugin",
    "nfs": "NFS server and its disk",
    "node_contract": "node checks and their taints",
    "nvidia": "NVIDIA device plugin",
    "registry": "container registry",
    "service_accounts": "service accounts with a role in AWS",
    "tensorboard": "TensorBoard service",
    "volcano": "Volcano scheduler and its queues",
}
_TEXTS = {
    "create": "Create or update the {} (idempotent).",
    "check": "Show what creating the {} would change; changes nothing.",
    "status": "Show the state of the {}.",
    "delete": "Delete the {}; resources without our tag are kept.",
}


def role_verbs(role: str) -> Iterator[Task[Any]]:
    """The four verbs of one role, which is loaded only when one of them is used."""

    @verb(flags=CREATE)
    def create(context: Context, flags: dict[str, Any]) -> int:
        return _create(role, flags, "create")

    @verb(flags=CREATE)
    def check(context: Context, flags: dict[str, Any]) -> int:
        return _create(role, {**flags, "check": True}, "check")

    @verb(flags=LOOK)
    def status(context: Context, flags: dict[str, Any]) -> int:
        from playrunner.lifecycle.status_and_delete import show_status

        return show_status([role], options_from(flags), f"{role}.status")

    @verb(flags=DELETE, help={**KEPT, **OBJECTS})
    def delete(
        context: Context,
        flags: dict[str, Any],
        with_kept: bool = False,
        with_objects: bool = False,
    ) -> int:
        from playrunner.lifecycle.status_and_delete import delete_roles

        return delete_roles(
            [role],
            options_from(flags),
            f"{role}.delete",
            with_kept,
            with_objects=with_objects,
        )

    managed = _MANAGES.get(role, f"resources of the role {role}")
    for task in (create, check, status, delete):
        task.__doc__ = _TEXTS[task.name].format(managed)
        yield task


def _create(role: str, flags: dict[str, Any], name: str) -> int:
    from playrunner.playbook.playbook import roles_play
    from playrunner.run.run import run_plays

    ttl, limit, play = flags.pop("ttl"), flags.pop("max_hourly"), roles_play([role])
    return run_plays(
        [play],
        options_from(flags),
        f"{role}.{name}",
        extra=with_limit({"ttl": ttl} if ttl else {}, limit, play),
    )


def with_limit(extra: dict[str, Any], limit: str, play: Play) -> dict[str, Any]:
    """The extra variables with the limit of --max-hourly; a play that ignores it is refused."""
    from playrunner.commands.cost import preflight_steps

    if not limit:
        return extra
    if not limit.replace(".", "", 1).isdigit():
        raise BadInput(f'--max-hourly takes US dollars per hour, as 12.50, not "{limit}"')
    if not preflight_steps(play):
        raise BadInput(
            f"--max-hourly cannot be enforced: {play.name} has no preflight; add preflight as the"
            " role's first dependency"
        )
    return {**extra, "max_hourly": float(limit)}
