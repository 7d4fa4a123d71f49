"""Where a verb's run lives: on hosts reached over SSH, or on a cluster. Its record knows; else the
inventory decides."""

from __future__ import annotations

from playrunner.errors import BadInput
from playrunner.options import Options
from playrunner.training.runs.record import Record, recorded
from playrunner.training.ssh.job import LAUNCHERS

ON_CLUSTERS = ("job", "pytorchjob", "elasticjob", "vcjob", "deepspeedjob")


def chosen_launcher(options: Options, asked: str) -> str:
    """The launcher of a new run: the one asked for, else the inventory's; nothing where it is left
    to the profile."""
    chosen = asked or _of_inventory(options)
    if chosen and chosen not in (*ON_CLUSTERS, *LAUNCHERS):
        where = "--launcher" if asked else "train_launcher"
        known = f"{', '.join(LAUNCHERS)} over SSH, or {', '.join(ON_CLUSTERS)} on a cluster"
        raise BadInput(f'{where} "{chosen}": it is one of {known}')
    return chosen


def on_cluster(options: Options, name: str) -> bool:
    """Whether the run that a verb is about is a cluster's."""
    known = Record(name).job() if name else _newest()
    if known:
        return known.get("launcher") in ON_CLUSTERS
    return _of_inventory(options) in ON_CLUSTERS


def any_on_clusters(options: Options) -> bool:
    """Whether there may be runs on a cluster at all, so that it is worth asking one."""
    return _of_inventory(options) in ON_CLUSTERS or any(
        each.job().get("launcher") in ON_CLUSTERS for each in recorded()
    )


def only_on_clusters(options: Options) -> bool:
    return _of_inventory(options) in ON_CLUSTERS


def _newest() -> dict[str, object]:
    jobs = [record.job() for record in recorded()]
    return max(jobs, key=lambda job: float(job.get("created", 0)), default={})


def _of_inventory(options: Options) -> str:
    from playrunner.training.kube.site import launcher_of

    return launcher_of(options)
