"""`train.launch --queue`: the launch is written down, a process of its own waits for its nodes, and
this one follows it until the run has ended. Leaving stops neither."""

from __future__ import annotations

import sys
import time
from dataclasses import replace

from playrunner.errors import BadInput
from playrunner.options import Options
from playrunner.output.json_output import print_json
from playrunner.project import program
from playrunner.training.request import (
    LaunchRefused,
    Request,
    default_name,
    read_request,
    wanted_nodes,
)
from playrunner.training.runs.remembered import used_inventory
from playrunner.training.runs.states import CANCELLED
from playrunner.training.screen.screen import LiveLine
from playrunner.training.script_code import script_code
from playrunner.training.ssh.attach import attach
from playrunner.training.ssh.nodes.hosts import open_fleet, usable_hosts
from playrunner.training.ssh.plan import plan
from playrunner.training.ssh.queue.entries import FAILED, STARTED, Entry, Queue, new_entry
from playrunner.training.ssh.queue.free_nodes import address_of
from playrunner.training.ssh.queue.processes import start, start_dead_ones

POLL_SECONDS = 1.0


def launch_queued(request: Request, options: Options, priority: int) -> int:
    if request.stage_only:
        raise BadInput("--queue starts a run; --stage-only starts none: leave one of them out")
    entry = _planned(request, options, priority)
    queue, line = Queue(), LiveLine(0, options.json)
    if options.check:
        return _show_plan(queue, entry, options, line)
    with queue.lock():
        waiting = queue.read(entry.name)
        new = waiting is None or waiting.state in (FAILED, STARTED)
        if new:
            queue.log(entry.name).unlink(missing_ok=True)
            entry = start(queue, entry)
        elif waiting:
            entry = waiting
    line.say(_position(queue, entry) + ("" if new else ": nothing changed"))
    if request.detach or not new:
        if options.json:
            state = {"name": entry.name, "state": entry.state, "changed": new, "backend": "ssh"}
            print_json({**state, "nodes": entry.nodes, "position": _place(queue, entry)})
        return 0
    try:
        outcome = _wait(queue, entry, line)
    except KeyboardInterrupt:
        line.say(
            f"{entry.name} waits on in the queue; {program()} train.queue shows it,"
            f" {program()} train.queue --cancel {entry.name} takes it out"
        )
        return 0
    if outcome is None:
        line.say(f"{entry.name} was taken out of the queue")
        if options.json:
            print_json({"name": entry.name, "state": "cancelled", "changed": False})
        return CANCELLED
    if outcome.state == FAILED:
        raise LaunchRefused(outcome.note)
    return attach(options, entry.name, ended_too=True)


def _planned(request: Request, options: Options, priority: int) -> Entry:
    """Refused now is what would be refused on any nodes."""
    name, profile = request.name or default_name(request), read_request(request)
    count = wanted_nodes(request, profile)
    request = replace(request, name=name, nodes=count)
    with open_fleet(options, count) as fleet:
        plan(request, profile, fleet, options)
        if profile.script:
            script_code(profile.code, profile.script)
        pool = tuple(address_of(fleet, host) for host in usable_hosts(fleet, options))
    options = replace(options, inventory=tuple(used_inventory(options)))
    return new_entry(request, options, priority, pool, sys.argv[0] if sys.argv else "")


def _wait(queue: Queue, entry: Entry, line: LiveLine) -> Entry | None:
    """Its end in the queue: started, failed, or None where it was cancelled."""
    note = ""
    while True:
        start_dead_ones(queue)
        now = queue.read(entry.name)
        if now is None or now.submitted != entry.submitted:
            return None
        if now.state in (STARTED, FAILED):
            with queue.lock():
                queue.remove(entry.name)
            return now
        if now.note != note:
            note = now.note
            line.say(f"{entry.name} waits: {note}" if note else f"{entry.name} starts")
        time.sleep(POLL_SECONDS)


def _show_plan(queue: Queue, entry: Entry, options: Options, line: LiveLine) -> int:
    ahead = [each.name for each in queue.ahead(entry)]
    text = f"after {', '.join(ahead)}" if ahead else "as the first"
    line.say(f"{entry.name} would wait in the queue for {entry.nodes} nodes, {text}")
    if options.json:
        print_json({"name": entry.name, "state": "checked", "nodes": entry.nodes, "ahead": ahead})
    return 0


def _place(queue: Queue, entry: Entry) -> int:
    return len(queue.ahead(entry)) + 1


def _position(queue: Queue, entry: Entry) -> str:
    return f"{entry.name} is number {_place(queue, entry)} in the queue for its nodes"
