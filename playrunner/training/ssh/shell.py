"""train.shell: a shell on the node of a rank, in the run's folder and with its variables."""

from __future__ import annotations

import shutil
import subprocess
import sys
from typing import Any

from playrunner.errors import BadInput
from playrunner.jumphost.login import ssh_command
from playrunner.options import Options
from playrunner.output.json_output import print_json
from playrunner.ssh.fleet import Fleet
from playrunner.ssh.frames import read_all
from playrunner.text.streams import visible
from playrunner.training.code_staging import stage_code
from playrunner.training.node_shell import in_shell
from playrunner.training.ssh.logs import chosen_nodes
from playrunner.training.ssh.nodes.hosts import open_fleet
from playrunner.training.ssh.nodes.selection import the_run

_MOST_BYTES = 64 << 20


def open_shell(options: Options, name: str, rank: int, host: str, command: str) -> int:
    with open_fleet(options) as fleet:
        run = the_run(fleet, options, name)
        node = chosen_nodes(run, rank, host, everything=False)[0]
        rank = max(rank, node["first_rank"]) if host else rank
        target = fleet.target(node["host"])
        if not command and not sys.stdin.isatty():
            raise BadInput(
                "a shell to type in needs a terminal; one command does not: train.shell --name"
                f" {run.name} --rank {rank} -- ls -l"
            )
        if not command and target.kind == "ssh" and not shutil.which("ssh"):
            raise BadInput("ssh is not installed on this machine; install the OpenSSH client")
        program = _program(fleet, run.name, node, rank, command)
        if command:
            return _once(fleet, run.name, node["host"], program, options)
    if target.kind == "local":
        return subprocess.call(["/bin/sh", "-c", program])
    if target.kind != "ssh":
        raise BadInput(f"{node['host']} is reached by {target.kind}; give a command after --")
    where = f"{target.user}@{target.address}" if target.user else target.address
    return subprocess.call([*ssh_command(target), "-t", where, program])


def _program(fleet: Fleet, run: str, node: dict[str, Any], rank: int, command: str) -> str:
    host = node["host"]
    code = stage_code(fleet, {host: node["root"]})[host]
    words = [node["python"], "-m", "trainer.node.shell", f"{node['root']}/runs/{run}", host]
    words += [str(rank), *([command] if command else [])]
    return f"PYTHONPATH={in_shell(code)} exec {' '.join(map(in_shell, words))}"


def _once(fleet: Fleet, run: str, host: str, program: str, options: Options) -> int:
    channel = fleet.start(host, program)
    output, _ = read_all(channel, _MOST_BYTES)
    code, out, err = channel.status(), output.decode(errors="replace"), channel.stderr_text()
    channel.close()
    if options.json:
        print_json({"name": run, "host": host, "rc": code, "stdout": out, "stderr": err})
    else:
        sys.stdout.write(visible(out))
        sys.stderr.write(visible(err))
    return 2 if code else 0
