"""train.prepare: an environment with torch and the packages training needs on every node, for
fleets that do not have one."""

from __future__ import annotations

from dataclasses import replace

from playrunner.errors import BadInput
from playrunner.options import Options
from playrunner.playbook.playbook import role_play
from playrunner.run.run import run_plays
from playrunner.training.ssh.nodes.hosts import open_fleet, training_hosts


def prepare(options: Options) -> int:
    with open_fleet(options) as fleet:
        hosts = training_hosts(fleet, options)
        without = [host for host in hosts if not fleet.variable(host, "train_venv")]
        if without:
            raise BadInput(
                "the inventory does not say where the environment goes: set train_venv for"
                f" {', '.join(without)}, as in train_venv: /opt/playrunner/venv"
            )
        settings = replace(options, extra_vars=(), limit="")
        return run_plays(
            [role_play("training", ",".join(hosts), "prepare")],
            settings,
            "train.prepare",
            inventory=fleet.inventory,
            agents=fleet.agents,
        )
