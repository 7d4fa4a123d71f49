"""host.async_status: how far a step is that was started with async."""

from __future__ import annotations

import json
import os

from playrunner.hostside.async_job import async_folder
from playrunner.hostside.module import Failed, Probe

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Literal

    from playrunner.hostside.host_context import HostContext


class AsyncStatus(Probe):
    """How far a step is that was started with `async` and `poll: 0`."""

    jid: str  # the job, from the step's ansible_job_id
    mode: Literal["status", "cleanup"] = "status"  # look at the job, or forget what it left

    def look(self, ctx: HostContext) -> dict[str, Any]:
        path = os.path.join(async_folder(), os.path.basename(self.jid))
        status = {"ansible_job_id": self.jid, "results_file": path}
        try:
            with open(path) as file:
                job = json.load(file)
        except (OSError, ValueError):
            ctx.warn(
                f"there is no job {self.jid} in {os.path.dirname(path)}; take jid from the"
                " ansible_job_id of the step that started it"
            )
            raise Failed(
                "could not find job",  # this text alone: playbooks compare it
                **status,
                started=True,
                finished=True,
            ) from None
        if self.mode == "cleanup":
            if not ctx.check:
                os.unlink(path)  # the runner's own note; the host stays as it is
            return {
                **status,
                "erased": path,
                "started": False,
                "finished": False,
                "stdout": "",
                "stderr": "",
            }
        result = {**job, **status}
        if result.pop("failed", False):
            raise Failed(result.pop("msg", "the job failed"), **result)
        return (
            result
            if result.get("finished")
            else {**result, "changed": False, "stdout": "", "stderr": ""}
        )
