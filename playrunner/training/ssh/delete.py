"""train.delete: remove a run that has ended from its nodes and from this machine."""

from __future__ import annotations

import shutil
import sys

from playrunner.errors import BadInput
from playrunner.frozen import frozen
from playrunner.options import Options
from playrunner.output.json_output import print_json
from playrunner.project import program
from playrunner.ssh.fleet import Fleet
from playrunner.training.request import refuse
from playrunner.training.runs.record import Record
from playrunner.training.runs.run import Run
from playrunner.training.ssh.nodes.hosts import open_fleet, root_of
from playrunner.training.ssh.nodes.selection import the_run


def delete(options: Options, name: str) -> int:
    """With its checkpoints; a run that goes on is refused."""
    if not name:
        raise BadInput("--name says which run to delete, with its checkpoints")
    if name.startswith(".") or "/" in name:
        raise BadInput(f'--name "{name}" is a path; give the name that train.status lists')
    with open_fleet(options) as fleet:
        run = the_run(fleet, options, name)
        if run.state in ("running", "stopping") or any(run.processes.values()):
            raise BadInput(
                f"{name} is {run.state}; stop it first: {program()} train.stop --name {name}"
            )
        folders = measured(fleet, run)
        if options.check or not _agreed(run, folders.bytes, options):
            return _say(options, name, folders.bytes, changed=False)
        remove(fleet, run, folders)
    return _say(options, name, folders.bytes, changed=True)


@frozen
class Folders:
    """A run's folders, by a host that has each, and their size."""

    paths: dict[str, str]
    bytes: int


def measured(fleet: Fleet, run: Run) -> Folders:
    """Nodes that share the folder see the same one: its bytes count once, and one deletes it."""
    hosts = list(dict.fromkeys([*run.hosts, *run.supervisors]))
    paths = {host: f"{root_of(fleet, host)}/runs/{run.name}" for host in hosts}
    answers = fleet.ask(paths, "train.size", lambda host: {"path": paths[host]})
    refuse(_troubles(answers), "delete")
    first = {str(answer["marker"]): host for host, answer in answers.items()}
    size = sum(int(answers[host]["bytes"]) for host in first.values())
    return Folders({host: paths[host] for host in first.values()}, size)


def remove(fleet: Fleet, run: Run, folders: Folders) -> None:
    done = fleet.ask(
        folders.paths,
        "host.file",
        lambda host: {"path": folders.paths[host], "state": "absent"},
    )
    refuse(_troubles(done), "delete")
    shutil.rmtree(Record(run.name).folder, ignore_errors=True)


def _troubles(answers: dict[str, dict[str, object]]) -> list[str]:
    return [
        f"{host}: {answer.get('msg')}"
        for host, answer in answers.items()
        if answer.get("failed") or answer.get("unreachable")
    ]


def _agreed(run: Run, size: int, options: Options) -> bool:
    if options.yes:
        return True
    if options.json or not sys.stdin.isatty():
        raise BadInput(f"{run.name}: deleting {shown_size(size)} needs --yes without a terminal")
    checkpoints = f"{len(run.checkpoints)} checkpoint{'s' * (len(run.checkpoints) != 1)}"
    answer = input(f"delete {run.name} ({run.state}, {checkpoints}, {shown_size(size)})? [y/N] ")
    return answer.strip().lower() in ("y", "yes")


def _say(options: Options, name: str, size: int, *, changed: bool) -> int:
    if options.json:
        print_json({"name": name, "changed": changed, "bytes": size})
    elif changed:
        print(f"{name} is deleted: {shown_size(size)}")
    else:
        print(f"{name} would be deleted: {shown_size(size)}; nothing is changed")
    return 0


def shown_size(size: int) -> str:
    for unit, least in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if size >= least:
            return f"{size / least:.1f} {unit}"
    return f"{size} bytes"
