"""train.watch with a cluster: its runs and those over SSH on one live page."""

from __future__ import annotations

import time

from playrunner.errors import BadInput
from playrunner.options import Options
from playrunner.training.kube.site import open_site
from playrunner.training.kube.status import cluster_runs
from playrunner.training.ssh.hosts import open_fleet
from playrunner.training.ssh.watch import Snapshot, look, show


def watch(options: Options, interval: float, with_hosts: bool) -> int:
    if interval <= 0:
        raise BadInput(f"--interval must be more than 0 seconds, not {interval:g}")
    site = open_site(options)

    def cluster() -> Snapshot:
        runs, silent = cluster_runs(site)
        return Snapshot(runs, silent, time.time())

    if not with_hosts:
        return show(cluster, options, interval)
    with open_fleet(options) as fleet:

        def everywhere() -> Snapshot:
            here, there = cluster(), look(fleet, options)
            return Snapshot([*here.runs, *there.runs], {**here.silent, **there.silent}, here.time)

        return show(everywhere, options, interval)
