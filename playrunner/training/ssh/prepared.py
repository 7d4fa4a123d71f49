"""What a launch has its nodes begin before they are checked: the ranks' interpreters, which import
torch meanwhile.

A rank's variables must be known when its interpreter starts, and some follow from what the nodes
are. So the first node's facts are remembered from one launch to the next; a rank whose variables
turn out otherwise is started anew by its supervisor.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from playrunner.errors import PlayrunnerError
from playrunner.options import Options
from playrunner.record.ledger import state_directory
from playrunner.ssh.fleet import AgentStep, Fleet
from playrunner.text import atomic_write
from playrunner.training.code import code_archive
from playrunner.training.request import Request
from playrunner.training.ssh.commands import commands
from playrunner.training.ssh.job import Job
from playrunner.training.ssh.nodes import preflight
from playrunner.training.ssh.nodes.preflight import Facts
from playrunner.training.ssh.plan import environment_of

_FACTS = ("cores", "devices", "interface")  # that decide variables


def prepared_ranks(
    job: Job, request: Request, fleet: Fleet, options: Options
) -> dict[str, AgentStep]:
    """The step that prepares them, by host; empty where nothing may be prepared."""
    known = _remembered(job, fleet)
    if not known or options.check or request.stage_only or _is_told_late(job):
        return {}
    facts = {job.master.host: known}
    job = preflight.with_free_ports(job, facts)
    try:
        environment = environment_of(job, fleet, facts)
    except PlayrunnerError:
        return {}  # said when the nodes have been looked at
    name, _ = code_archive()
    steps = {}
    for node in job.nodes:
        code, folder = f"{node.root}/code/{name}", job.folder(node)
        order = {
            "commands": commands(job, node, code),
            "environment": {each.name: each.value for each in environment},
            "token": f"{folder}/nodes/{node.host}/token",
        }
        arguments = {
            "run": folder,
            "host": node.host,
            "run_id": job.run_id,
            "python": node.python,
            "code": code,
            "order": order,
        }
        steps[node.host] = ("train.prepared", arguments)
    return steps


def _is_told_late(job: Job) -> bool:
    """Whether what its processes import may be decided only when they would have: by secrets, by a
    setup that installs packages, by the script itself, which may set variables before it imports
    torch, or by the device, which DeepSpeed looks for as it is imported."""
    own = job.profile.script and (job.launcher == "direct" or job.profile.setup)
    return bool(job.secrets or own or job.launcher == "deepspeed")


def remember(job: Job, facts: Facts, fleet: Fleet) -> None:
    known = {name: facts[job.master.host][name] for name in _FACTS}
    if _remembered(job, fleet) != known:
        path = _file(job, fleet)
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        atomic_write.write_text(path, json.dumps(known), durable=False)


def _remembered(job: Job, fleet: Fleet) -> dict[str, Any]:
    try:
        known = json.loads(_file(job, fleet).read_text())
    except (OSError, ValueError):
        return {}
    return known if isinstance(known, dict) and set(known) == set(_FACTS) else {}


def _file(job: Job, fleet: Fleet) -> Path:
    target = fleet.target(job.master.host)
    place = f"{target.user}@{target.address}:{target.port} {job.master.python}"
    name = hashlib.sha256(place.encode()).hexdigest()[:16]
    return state_directory() / "training" / "machines" / f"{name}.json"
