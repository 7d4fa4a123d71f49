"""The backend over SSH: hosts of the inventory, a supervisor on each."""

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
class SshBackend:
    options: Options
    name: str = "ssh"

    def launch(self, request: Request) -> int:
        from playrunner.training.ssh.nodes.login import logging_in

        with logging_in(request, self.options) as fleet:
            from playrunner.training.ssh.launch import launch  # the nodes answer meanwhile

            return launch(request, self.options, fleet)

    def enqueue(self, request: Request, priority: int) -> int:
        from playrunner.training.ssh.queue.launch import launch_queued

        return launch_queued(request, self.options, priority)

    def status(self, name: str) -> int:
        from playrunner.training.ssh.status import show_status

        return show_status(self.options, name)

    def logs(
        self, name: str, rank: int, host: str, *, everything: bool, follow: bool, tail: int
    ) -> int:
        from playrunner.training.ssh.logs import show_logs

        return show_logs(
            self.options, name, rank, host, everything=everything, follow=follow, tail=tail
        )

    def shell(self, name: str, rank: int, host: str, command: str) -> int:
        from playrunner.training.ssh.shell import open_shell

        return open_shell(self.options, name, rank, host, command)

    def stop(self, name: str) -> int:
        from playrunner.training.ssh.stop import stop

        return stop(self.options, name)

    def attach(self, name: str) -> int:
        from playrunner.training.ssh.attach import attach

        return attach(self.options, name)

    def delete(self, name: str) -> int:
        from playrunner.training.ssh.delete import delete

        return delete(self.options, name)

    def resume(self, name: str, nodes: int, overrides: tuple[str, ...], detach: bool) -> int:
        from playrunner.training.ssh.resume import resume

        return resume(self.options, name, nodes, overrides, detach)

    def scale(self, name: str, nodes: int, detach: bool) -> int:
        from playrunner.training.ssh.resume import scale

        return scale(self.options, name, nodes, detach)

    def env(self, request: Request, why: str) -> int:
        from playrunner.training.ssh.env import show_env

        return show_env(request, self.options, why)

    def why(self, name: str) -> int:
        from playrunner.training.ssh.why import show_why

        return show_why(self.options, name)

    @contextmanager
    def watch(self, metrics: int) -> Iterator[Callable[[], Snapshot]]:
        from playrunner.training.screen.watch_page import Snapshot
        from playrunner.training.ssh.nodes.hosts import open_fleet, training_hosts
        from playrunner.training.ssh.run_view import all_runs

        with open_fleet(self.options) as fleet:

            def look() -> Snapshot:
                hosts = training_hosts(fleet, self.options)
                return Snapshot(*all_runs(fleet, hosts, metrics=metrics), time.time())

            yield look

    def bench(self, request: Request) -> int:
        from playrunner.training.ssh.network.bench import bench

        return bench(request, self.options)

    def tensorboard(self, name: str, port: int) -> int:
        from playrunner.training.ssh.tensorboard import serve_board

        return serve_board(self.options, name, port)

    def prepare(self) -> int:
        from playrunner.training.ssh.prepare import prepare

        return prepare(self.options)

    def stage(self, request: StageRequest, overrides: tuple[str, ...]) -> int:
        from playrunner.training.ssh.stage import stage

        return stage(request, overrides, self.options)
