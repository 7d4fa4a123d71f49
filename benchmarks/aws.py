"""`python -m benchmarks.aws`: how long, and with how many calls, a cluster with storage is made,
made again and torn down.

Against the pretend AWS, with delays long enough that waiting dominates, as it does in the real one.
The yardstick is the critical path of those delays: what must be waited for one after the other,
whatever runs the steps. Nothing here is compared with the time that a list of steps would take,
except in the last column.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path
from typing import Any

from playrunner.sandbox.http import control_secret

ROOT = Path(__file__).resolve().parents[1]
PLAYBOOK = "playbooks/eks-with-storage.yaml"
INVENTORIES = ["--inventory", "eks-gpu", "--inventory", "local"]
DELAYS = {
    "eks.cluster.create": 24.0,
    "eks.cluster.delete": 12.0,
    "eks.nodegroup.create": 16.0,
    "eks.nodegroup.delete": 12.0,
    "eks.addon": 3.0,
    "fsx.file_system.create": 20.0,
    "fsx.file_system.delete": 10.0,
    "efs.file_system": 4.0,
    "efs.mount_target.create": 6.0,
    "efs.mount_target.delete": 6.0,
    "ec2.nat_gateway.create": 6.0,
    "ec2.nat_gateway.delete": 6.0,
    "ec2.instance.start": 1.0,
    "ec2.instance.stop": 1.0,
}
# Control plane, the add-on that nodes need, nodes, the add-on that needs nodes.
CRITICAL = DELAYS["eks.cluster.create"] + 2 * DELAYS["eks.addon"] + DELAYS["eks.nodegroup.create"]
IN_A_ROW = (
    CRITICAL
    + 3 * DELAYS["eks.addon"]
    + sum(
        DELAYS[name]
        for name in ("fsx.file_system.create", "efs.file_system", "ec2.nat_gateway.create")
    )
    + 4 * DELAYS["efs.mount_target.create"]
)
GOAL_OVERLAP, GOAL_CALLS = 1.25, 1.1
FOREIGN_ROLES = 100
LEFTOVERS = 7  # the exit code of an audit that finds something


class Rehearsal:
    """A pretend AWS of its own, and the commands run against it."""

    def __init__(self, folder: Path) -> None:
        self.environment = {
            **os.environ,
            "PLAYRUNNER_STATE_HOME": str(folder),
            "KUBECONFIG": str(folder / "kubeconfig"),
        }
        self.run("-m", "playrunner.sandbox", "up", "--only", "aws")
        self.folder = folder / "sandbox" / "aws"
        self.address = json.loads((folder / "sandbox" / "aws.json").read_text())["endpoint_url"]
        self.control("settings", {"delays": DELAYS})

    def timed(self, *words: str, ends: int = 0) -> tuple[float, int, dict[str, Any]]:
        """Seconds, calls and what was said of `invoke WORDS --json`."""
        before = len(self.control("calls"))
        started = time.monotonic()
        said = self.run("-m", "invoke", *words, "--json", ends=ends)
        return time.monotonic() - started, len(self.control("calls")) - before, json.loads(said)

    def audit_calls(self) -> int:
        return self.timed("audit", *INVENTORIES, ends=LEFTOVERS)[1]

    def foreign_roles(self) -> None:
        """Roles of others in the account."""
        import boto3

        known = json.loads((self.folder.parent / "aws.json").read_text())
        names = ("access_key_id", "secret_access_key")
        iam = boto3.client(
            "iam",
            region_name=known["region"],
            endpoint_url=self.address,
            **{f"aws_{name}": known[name] for name in names},
        )
        trust = {"Effect": "Allow", "Principal": {"Service": "ec2.amazonaws.com"}}
        document = json.dumps(
            {"Version": "2012-10-17", "Statement": [{**trust, "Action": "sts:AssumeRole"}]}
        )
        for number in range(FOREIGN_ROLES):
            iam.create_role(RoleName=f"theirs-{number}", AssumeRolePolicyDocument=document)

    def run(self, *words: str, ends: int = 0) -> str:
        command = [sys.executable, *words]
        ran = subprocess.run(
            command, cwd=ROOT, env=self.environment, capture_output=True, text=True, check=False
        )
        if ran.returncode != ends:
            sys.exit(f"{' '.join(words)} ended with {ran.returncode}\n{ran.stdout}{ran.stderr}")
        return ran.stdout

    def control(self, name: str, wish: Any = None) -> Any:
        body = None if wish is None else json.dumps(wish).encode()
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        request = urllib.request.Request(
            f"{self.address}/_sandbox/{name}", body, control_secret.header(self.folder)
        )
        with opener.open(request, timeout=30) as answer:
            return json.load(answer)


def main() -> int:
    with tempfile.TemporaryDirectory() as folder:
        rehearsal = Rehearsal(Path(folder))
        try:
            created = rehearsal.timed("play", PLAYBOOK, *INVENTORIES)
            things = json.loads(rehearsal.run("-m", "invoke", "status", *INVENTORIES, "--json"))[
                "things"
            ]
            count = sum(thing["state"] == "there" for thing in things)
            again = rehearsal.timed("play", PLAYBOOK, *INVENTORIES)
            audit = rehearsal.audit_calls()
            rehearsal.foreign_roles()
            audit_among_others = rehearsal.audit_calls()
            gone = rehearsal.timed("teardown", *INVENTORIES, "--yes")
        finally:
            rehearsal.run("-m", "playrunner.sandbox", "down")
    print(
        f"{count} things; critical path of the delays {CRITICAL:.0f} s, all of them in a row"
        f" {IN_A_ROW:.0f} s\n"
    )
    print(f"{'':<14}{'seconds':>9}{'calls':>8}   against the yardstick")
    overlap, calls = created[0] / CRITICAL, again[1] / count
    print(
        f"{'create':<14}{created[0]:>9.1f}{created[1]:>8}   {overlap:.2f}x the critical path (goal"
        f" {GOAL_OVERLAP}x); {created[0] / IN_A_ROW:.2f}x in a row"
    )
    print(
        f"{'create again':<14}{again[0]:>9.1f}{again[1]:>8}   {calls:.2f} calls for each thing"
        f" (goal {GOAL_CALLS})"
    )
    print(f"{'teardown':<14}{gone[0]:>9.1f}{gone[1]:>8}   {gone[2]['left']['leftovers']} left")
    print(
        f"{'audit':<14}{'':>9}{audit:>8}   {audit_among_others} with {FOREIGN_ROLES} roles of"
        " others (goal: as many)"
    )
    flat = audit_among_others <= audit
    return 0 if overlap <= GOAL_OVERLAP and calls <= GOAL_CALLS and flat else 1


if __name__ == "__main__":
    sys.exit(main())
