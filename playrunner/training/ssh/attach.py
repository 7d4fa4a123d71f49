"""train.attach: follow a run that goes on already, as the launch that started it would."""

from __future__ import annotations

from playrunner.errors import BadInput
from playrunner.options import Options
from playrunner.project import program
from playrunner.training.runs.record import Record
from playrunner.training.screen.screen import LiveLine
from playrunner.training.ssh.conclusion import conclude
from playrunner.training.ssh.following.follow import Follower
from playrunner.training.ssh.following.last_look import last_look
from playrunner.training.ssh.following.listener import RecordingListener
from playrunner.training.ssh.job import LEASE_SECONDS
from playrunner.training.ssh.network.expected import expected_links
from playrunner.training.ssh.nodes.hosts import open_fleet
from playrunner.training.ssh.nodes.selection import the_run


def attach(options: Options, name: str, ended_too: bool = False) -> int:
    """To the end of the run; Ctrl-C leaves it, and stops nothing. With `ended_too`, one that has
    ended is shown as it ended."""
    with open_fleet(options) as fleet:
        run = the_run(fleet, options, name)
        if run.state != "running" and not ended_too:
            raise BadInput(
                f"{run.name} is {run.state}: there is nothing to follow; it goes on with:"
                f" {program()} train.resume --name {run.name}"
            )
        record, line = Record(run.name), LiveLine(run.steps_in_all, options.json)
        record.begin({**run.job, **record.job()})
        for host in run.hosts:
            record.begin_log(host)  # all of it comes again, from its first line
        first = run.hosts[0]
        expected = expected_links(fleet, first)
        lease = float(fleet.variable(first, "train_lease_seconds", LEASE_SECONDS))
        follower = Follower(fleet, run.job, RecordingListener(record, line, expected), lease=lease)
        try:
            states = follower.follow()
        except KeyboardInterrupt:
            line.say(_left(run.name, bool(run.job.get("detached")), lease))
            return 0
        finally:
            line.end()
            record.close()
        states, saved = last_look(fleet, run.job, states, follower.silent)
        return conclude(run.job, states, record, line, options, saved)


def _left(name: str, detached: bool, lease: float) -> str:
    again = f"{program()} train.attach --name {name}"
    if detached:
        return f"{name} goes on in the background; come back with: {again}"
    return f"{name} ends in {lease:g} s unless it is followed again: {again}"
