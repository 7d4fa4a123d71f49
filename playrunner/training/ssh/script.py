"""What a script of the user's own needs on the nodes: the contents that they lack, its working
folder and its setup."""

from __future__ import annotations

from typing import Any

from playrunner.ssh.fleet import Fleet
from playrunner.training.request import refuse
from playrunner.training.script_code import ScriptCode, script_code
from playrunner.training.ssh.job import Job


def script_steps(job: Job, fleet: Fleet) -> dict[str, dict[str, Any]]:
    """The variables of roles/training/tasks/main.yaml for each node. Only contents that some node
    lacks travel."""
    code = script_code(job.profile.code, job.profile.script)
    lacking = _lacking(job, code, fleet)
    archive = str(code.pack(lacking)) if lacking else ""
    return {
        node.host: {
            "archive": archive,
            "store": _store(node.root),
            "work": job.work(node),
            "files": [list(file) for file in code.files],
            "setup": job.profile.setup,
            "setup_key": code.setup_key(job.profile.setup),
            "marks": f"{node.root}/code/setup",
        }
        for node in job.nodes
    }


def _store(root: str) -> str:
    return f"{root}/code/files"


def _lacking(job: Job, code: ScriptCode, fleet: Fleet) -> set[str]:
    digests = sorted({digest for _, digest, _ in code.files})
    roots = {node.host: node.root for node in job.nodes}
    answers = fleet.ask(
        roots, "train.lacking", lambda host: {"store": _store(roots[host]), "digests": digests}
    )
    refuse(
        [f"{host}: {answer['msg']}" for host, answer in answers.items() if "msg" in answer],
        "copying the script",
    )
    return {digest for answer in answers.values() for digest in answer["lacking"]}
