"""The backend on a cluster: each run is a job, its nodes are pods."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from playrunner.frozen import frozen
from playrunner.options import Options

if TYPE_CHECKING:
    from playrunner.training.data.request import StageRequest
    from playrunner.training.request import Request
    from playrunner.training.screen.watch_page import Snapshot


@frozen
class ClusterBackend:
    options: Options
    launcher: str
    name: str = "cluster"

    def launch(self, request: Request) -> int:
        from playrunner.training.kube.launch import launch

        return launch(request, self.options, self.launcher)

    def enqueue(self, request: Request, priority: int) -> int:
        """The cluster's own queue holds the job until there is room for all its pods."""
        from playrunner.errors import BadInput
        from playrunner.training.inventory_scope import scope_of, value_of
        from playrunner.variables.asked_inventory import open_inventory

        queue = value_of(scope_of(open_inventory(self.options), self.options), "train_queue", "")
        if priority:
            raise BadInput("--priority is for nodes over SSH; on a cluster its queue has its own")
        if not queue and self.launcher != "vcjob":
            raise BadInput(
                "--queue: on a cluster its own queue holds runs; name it with train_queue in the"
                " inventory (Kueue's LocalQueue, or Volcano's queue for vcjob)"
            )
        return self.launch(request)

    def status(self, name: str) -> int:
        from playrunner.training.kube.status import show_status

        return show_status(self.options, name)

    def logs(
        self, name: str, rank: int, host: str, *, everything: bool, follow: bool, tail: int
    ) -> int:
        from playrunner.training.kube.logs import show_logs

        return show_logs(
            self.options, name, rank, host, everything=everything, follow=follow, tail=tail
        )

    def stop(self, name: str) -> int:
        from playrunner.training.kube.stop import stop

        return stop(self.options, name)

    def attach(self, name: str) -> int:
        from playrunner.errors import BadInput

        raise BadInput(
            "train.attach is for runs on hosts: a cluster's runs need no follower; see them with"
            " train.watch, or train.logs --follow"
        )

    def delete(self, name: str) -> int:
        from playrunner.errors import BadInput

        raise BadInput(
            "train.delete is for runs on hosts: on a cluster train.stop deletes a run's objects,"
            " and its files are on the claim"
        )

    def resume(self, name: str, nodes: int, overrides: tuple[str, ...], detach: bool) -> int:
        from playrunner.training.kube.resume import resume

        return resume(self.options, name, nodes, overrides, detach)

    def scale(self, name: str, nodes: int, detach: bool) -> int:
        """Whether or not it is followed: pods come and go without the launching process."""
        from playrunner.training.kube.resume import scale

        return scale(self.options, name, nodes)

    def env(self, request: Request, why: str) -> int:
        from playrunner.training.kube.env import show_env

        return show_env(request, self.options, self.launcher, why)

    def why(self, name: str) -> int:
        from playrunner.training.kube.why import show_why

        return show_why(self.options, name)

    @contextmanager
    def watch(self, metrics: int) -> Iterator[Callable[[], Snapshot]]:
        from playrunner.training.kube.session import open_session
        from playrunner.training.kube.status import cluster_runs
        from playrunner.training.screen.watch_page import Snapshot

        session = open_session(self.options)
        yield lambda: Snapshot(*cluster_runs(session), time.time())

    def bench(self, request: Request) -> int:
        from playrunner.training.kube.bench import bench

        return bench(request, self.options, self.launcher)

    def tensorboard(self, name: str, port: int) -> int:
        from playrunner.training.kube.tensorboard import serve_board

        return serve_board(self.options, name, port)

    # On clusters only

    def stage(self, request: StageRequest, overrides: tuple[str, ...]) -> int:
        from playrunner.training.kube.stage import stage

        return stage(request, overrides, self.options)

    def export(self, name: str, to: str) -> int:
        from playrunner.training.kube.export import export

        return export(self.options, name, to)

    def precompile(self, request: Request) -> int:
        from playrunner.training.kube.precompile import precompile

        return precompile(request, self.options)

    def netcheck(self, name: str) -> int:
        from playrunner.training.kube.netcheck import netcheck

        return netcheck(self.options, name)

    def top(self, name: str, host: str) -> int:
        from playrunner.training.kube.top import show_top

        return show_top(self.options, name, host)

    def shell(self, name: str, rank: int, host: str, command: str) -> int:
        from playrunner.errors import BadInput
        from playrunner.training.kube.shell import open_shell

        if rank or host:
            raise BadInput(
                "--rank and --host are for runs over SSH; on a cluster the shell is a pod of its"
                " own with the run's claim: leave them out"
            )
        return open_shell(self.options, name, command)
