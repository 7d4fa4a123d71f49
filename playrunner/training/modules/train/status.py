"""train.status: the runs a node knows of: state, last step, and what its supervisor said."""

from __future__ import annotations

import os

from playrunner.hostside.module import Probe
from playrunner.training.modules.train import _runs

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from playrunner.hostside.host_context import HostContext


_TAIL_BYTES = 65536
_WHOLE_FROM = 3  # nodes that send all that was written down of a job
_ALERTS = 5  # of each node that are shown


class Status(Probe):
    """The runs a node knows of: state, last metrics, checkpoints, and the supervisor's words."""

    answers = {
        "runs": [
            {
                "name": str,
                "job": dict,
                "supervisor": dict,
                "metrics": [dict],
                "checkpoints": [str],
                "checkpoint_bytes": dict,
                "processes": int,
                "log_bytes": int,
                "guard": [dict],
            }
        ]
    }

    root: str  # the folder of runs
    host: str  # the node's name in runs
    run: str = ""  # only this one
    metrics: int = 1  # how many of the last metric lines to return
    all: bool = False  # the whole job, whichever of its nodes this is

    def look(self, ctx: HostContext) -> dict[str, Any]:
        root = os.path.expanduser(self.root)
        runs = []
        for run in _runs.all_runs(root, self.host):
            if self.run and run["name"] != self.run:
                continue
            folder = os.path.join(root, "runs", run["name"])
            log = os.path.join(folder, "nodes", self.host, "log")
            runs.append(
                {
                    **run,
                    "job": self._job(os.path.join(folder, "run.json")),
                    "folder": folder,
                    "metrics": last_metrics(
                        os.path.join(folder, "output", "metrics.jsonl"), self.metrics
                    ),
                    "checkpoints": _runs.checkpoints(folder),
                    "checkpoint_bytes": _runs.checkpoint_bytes(folder),
                    "log_bytes": os.path.getsize(log) if os.path.exists(log) else 0,
                    "guard": last_alerts(os.path.join(folder, "nodes", self.host, "guard.jsonl")),
                    "processes": len(_runs.marked(run["supervisor"].get("mark", ""))),
                }
            )
        return {"runs": runs}

    def _job(self, path: str) -> dict[str, Any]:
        """It names every node, so that only the first nodes send all of it."""
        job = _runs.read_json(path)
        first = [node.get("host") for node in job.get("nodes", ())[:_WHOLE_FROM]]
        if self.all or self.host in first or not first:
            return job
        kept = {name: value for name, value in job.items() if name not in ("nodes", "codes")}
        return {**kept, "abridged": True}


def last_alerts(path: str) -> list[dict[str, Any]]:
    """What the guard of this node's ranks saw last, since the run was launched."""
    alerts = [record for record in _records(path, _TAIL_BYTES) if "kind" in record]
    return alerts[-_ALERTS:]


def last_metrics(path: str, count: int) -> list[dict[str, Any]]:
    """The last lines of a metrics file that hold a loss; the last one gets the newest evaluation
    too, which has a line of its own."""
    records = _records(path, _TAIL_BYTES * max(1, count // 100))
    last = [record for record in records if "loss" in record][-count:]
    evaluations = [record["eval_loss"] for record in records if "eval_loss" in record]
    if last and evaluations:
        last[-1] = {**last[-1], "eval_loss": evaluations[-1]}
    return last


def _records(path: str, tail: int) -> list[dict[str, Any]]:
    """The JSON objects in the last bytes of a file, one in each line."""
    try:
        with open(path, "rb") as file:
            file.seek(0, os.SEEK_END)
            file.seek(max(0, file.tell() - tail))
            lines = file.read().splitlines()
    except OSError:
        return []
    import json  # slow, and many nodes have nothing to read

    records = []
    for line in lines:
        try:
            record = json.loads(line)
        except ValueError:
            continue  # the first one is cut, the last one may be being written
        if isinstance(record, dict):
            records.append(record)
    return records
