"""What every backend of training can do, and which one a verb uses: hosts over SSH, or a
cluster."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from playrunner.errors import BadInput
from playrunner.training.launchers import CLUSTER_LAUNCHERS, SSH_LAUNCHERS
from playrunner.training.runs.stall import PACE

if TYPE_CHECKING:
    from playrunner.options import Options
    from playrunner.training.data.request import StageRequest
    from playrunner.training.kube.backend import ClusterBackend
    from playrunner.training.request import Request
    from playrunner.training.screen.watch_page import Snapshot


class Backend(Protocol):
    """Each returns the verb's exit code, unless it says otherwise."""

    @property
    def name(self) -> str: ...

    def launch(self, request: Request) -> int: ...
    def enqueue(self, request: Request, priority: int) -> int: ...
    def status(self, name: str) -> int: ...
    def logs(
        self, name: str, rank: int, host: str, *, everything: bool, follow: bool, tail: int
    ) -> int: ...
    def stop(self, name: str) -> int: ...
    def attach(self, name: str) -> int: ...
    def delete(self, name: str) -> int: ...
    def resume(self, name: str, nodes: int, overrides: tuple[str, ...], detach: bool) -> int: ...
    def scale(self, name: str, nodes: int, detach: bool) -> int: ...
    def env(self, request: Request, why: str) -> int: ...
    def why(self, name: str) -> int: ...
    def watch(self, metrics: int) -> AbstractContextManager[Callable[[], Snapshot]]:
        """While it is open, all runs of this backend at the moment of each call."""

    def bench(self, request: Request) -> int: ...
    def tensorboard(self, name: str, port: int) -> int: ...
    def shell(self, name: str, rank: int, host: str, command: str) -> int: ...
    def stage(self, request: StageRequest, overrides: tuple[str, ...]) -> int: ...


# What profiles call the launchers of clusters.
_OF_PROFILES = {"elastic": "elasticjob", "volcano": "vcjob", "pytorchjob": "pytorchjob"}


def choose_backend(options: Options, *, launcher: str = "", run: str | None = None) -> Backend:
    """By the launcher of a new run, or by the record of an existing one; else by the inventory.

    `run` is its name, empty for the newest.
    """
    if run is not None:
        recorded = _recorded_launcher(run)
        return _made(options, recorded if recorded else _inventory_launcher(options))
    chosen = launcher or _inventory_launcher(options)
    if chosen and chosen not in {**SSH_LAUNCHERS, **CLUSTER_LAUNCHERS}:
        where = "--launcher" if launcher else "train_launcher"
        raise BadInput(
            f'{where} "{chosen}": it is one of {", ".join(SSH_LAUNCHERS)} over SSH, or'
            f" {', '.join(CLUSTER_LAUNCHERS)} on a cluster"
        )
    return _made(options, chosen)


def stage_backend(options: Options) -> Backend:
    """Where data is staged to: the inventory's cluster, by its launcher, or by its claim where no
    hosts are there to train on, as a launch chooses; else its hosts."""
    from playrunner.training.inventory_scope import scope_of, value_of
    from playrunner.variables.asked_inventory import open_inventory

    launcher = _inventory_launcher(options)
    claim = value_of(scope_of(open_inventory(options), options), "train_claim", "")
    if not launcher and claim and not _has_hosts(options):
        from playrunner.training.kube.backend import ClusterBackend

        return ClusterBackend(options, launcher)
    return _made(options, launcher)


def chosen_launcher(
    options: Options, launcher: str, profile: str = "", overrides: tuple[str, ...] = ()
) -> str:
    """The launcher of a new run: the one given, else the inventory's, else the profile's own where
    that is a cluster's and the inventory has no hosts to train on; empty leaves it to the SSH
    backend."""
    chosen = launcher or _inventory_launcher(options)
    if chosen or not profile or _has_hosts(options):
        return chosen
    from playrunner.training.request import profile_of

    return _OF_PROFILES.get(profile_of(profile, overrides).launch.launcher, "")


def cluster_backend(
    verb: str, options: Options, *, run: str | None = None, launcher: str = ""
) -> ClusterBackend:
    """The cluster's backend, for verbs that exist only there."""
    recorded = _recorded_launcher(run) if run else ""
    source = "--launcher" if launcher else f"the run {run}" if recorded else "train_launcher"
    launcher = launcher or recorded or _inventory_launcher(options)
    if launcher in SSH_LAUNCHERS:
        raise BadInput(
            f"train.{verb} works on clusters only, and {source} uses {launcher} over SSH"
        )
    if not launcher and not _names_cluster(options):
        raise BadInput(
            f"train.{verb} works on clusters only: set train_launcher"
            f" ({', '.join(CLUSTER_LAUNCHERS)}) and kubeconfig or kube_context in the inventory"
        )
    from playrunner.training.kube.backend import ClusterBackend

    return ClusterBackend(options, launcher)


def show_status(options: Options) -> int:
    """All runs of every backend in use."""
    from playrunner.training.screen.runs_table import show_runs

    with opened_look(options, PACE) as look:
        seen = look()
    return show_runs(seen.runs, seen.silent, as_json_text=options.json)


def watch(options: Options, interval: float) -> int:
    """All runs of every backend in use, on one live page."""
    from playrunner.training.screen.watch_page import METRICS, show

    if interval <= 0:
        raise BadInput(f"--interval must be more than 0 seconds, not {interval:g}")
    with opened_look(options, METRICS) as look:
        return show(look, options, interval)


@contextmanager
def opened_look(options: Options, metrics: int) -> Iterator[Callable[[], Snapshot]]:
    """A look at all runs of every backend in use, with so many of the last metrics of each."""
    with ExitStack() as opened:
        yield _together([opened.enter_context(each.watch(metrics)) for each in _backends(options)])


def _together(looks: list[Callable[[], Snapshot]]) -> Callable[[], Snapshot]:
    from playrunner.training.screen.watch_page import Snapshot

    def look() -> Snapshot:
        seen = [each() for each in looks]
        return Snapshot(
            [run for each in seen for run in each.runs],
            {host: why for each in seen for host, why in each.silent.items()},
            seen[0].time,
        )

    return look


def _backends(options: Options) -> list[Backend]:
    """Those that may have runs: the inventory's, and a cluster that this machine launched on."""
    from playrunner.training.runs.record import recorded

    own = _inventory_launcher(options)
    if own in CLUSTER_LAUNCHERS:
        return [_made(options, own)]
    used = [str(record.job().get("launcher")) for record in recorded()]
    clusters = [launcher for launcher in used if launcher in CLUSTER_LAUNCHERS]
    return [_made(options, launcher) for launcher in (*clusters[:1], own)]


def _made(options: Options, launcher: str) -> Backend:
    if launcher in CLUSTER_LAUNCHERS:
        from playrunner.training.kube.backend import ClusterBackend

        return ClusterBackend(options, launcher)
    from playrunner.training.ssh.backend import SshBackend

    return SshBackend(options)


def _recorded_launcher(name: str) -> str:
    """Of the run of that name, or of the newest, where this machine launched it."""
    from playrunner.training.runs.record import Record, recorded

    jobs = [Record(name).job()] if name else [record.job() for record in recorded()]
    newest = max(jobs, key=lambda job: float(job.get("created", 0)), default={})
    return str(newest.get("launcher", ""))


def _inventory_launcher(options: Options) -> str:
    from playrunner.training.inventory_scope import launcher_of

    return launcher_of(options)


def _has_hosts(options: Options) -> bool:
    from playrunner.variables.asked_inventory import open_inventory

    return any(name != "localhost" for name in open_inventory(options).hosts)


def _names_cluster(options: Options) -> bool:
    from playrunner.training.inventory_scope import scope_of, value_of
    from playrunner.variables.asked_inventory import open_inventory

    if options.kubeconfig or os.environ.get("KUBECONFIG"):
        return True
    scope = scope_of(open_inventory(options), options)
    named = value_of(scope, "kubeconfig", "") or value_of(scope, "kube_context", "")
    return bool(named) or (Path.home() / ".kube" / "config").exists()
