"""`make rehearsals`: every guide whole, one after the other, each in a sandbox of its own, and
looked at afterwards with kubectl and the cloud's own program.

    python -m tests.rehearsals [STORY...]

The table has what each took, its exit code, what the second run changed, and what was left. The
exit code is 0 if all ended well, changed nothing twice and left nothing.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from playrunner.sandbox.kube.process.shared_claim import NAME as CLAIM
from playrunner.training.rehearsal.stories import STORIES, Story, story_of

ROOT = Path(__file__).parents[1]
PATIENCE_SECONDS = 3600.0
# What a story makes in a cluster, and what none has of itself.
KINDS = "pods,jobs,pvc,pv,storageclasses,crd,secrets,configmaps"
# The claim that the sandbox's cluster has of itself, and its volume.
OF_THE_SANDBOX = {f"{kind} {CLAIM}" for kind in ("PersistentVolumeClaim", "PersistentVolume")}
# A question for the aws CLI, and how many of these an account has of itself.
AWS = {
    "resourcegroupstaggingapi get-resources": 0,
    "eks list-clusters": 0,
    "efs describe-file-systems": 0,
    "fsx describe-file-systems": 0,
    "ec2 describe-vpcs": 1,
    "ec2 describe-security-groups": 1,
    "ec2 describe-addresses": 0,
    "ec2 describe-volumes": 0,
    "ec2 describe-network-interfaces": 0,
    "ec2 describe-launch-templates": 0,
    "ec2 describe-placement-groups": 0,
    "iam list-roles": 0,
    "iam list-policies --scope Local": 0,
    "iam list-open-id-connect-providers": 0,
    "logs describe-log-groups": 0,
    "s3api list-buckets": 0,
    "ecr describe-repositories": 0,
}
GCLOUD = ("container clusters list", "compute disks list", "compute instances list")
GCLOUD += ("artifacts repositories list",)


@dataclass(frozen=True)
class Ended:
    """How a rehearsal ended, and what is there after it."""

    story: str
    seconds: float
    code: int
    changed: tuple[str, ...]
    leftovers: tuple[str, ...]
    looked_with: tuple[str, ...]

    @property
    def well(self) -> bool:
        return not (self.code or self.changed or self.leftovers)


def main(names: list[str]) -> int:
    ended = []
    for story in [story_of(name) for name in names] or list(STORIES.values()):
        print(f"{story.name}: {story.title}", flush=True)
        ended.append(_rehearsed(story))
    print("\n".join(["", *table(ended)]))
    return int(not all(each.well for each in ended))


def table(ended: list[Ended]) -> list[str]:
    head = ("story", "seconds", "rc", "changes of the second run", "leftovers", "looked at with")
    rows = [
        (
            each.story,
            f"{each.seconds:.0f}",
            str(each.code),
            ", ".join(each.changed) or "0",
            ", ".join(each.leftovers) or "0",
            ", ".join(each.looked_with),
        )
        for each in ended
    ]
    return [f"| {' | '.join(row)} |" for row in (head, tuple("---" for _ in head), *rows)]


def _rehearsed(story: Story) -> Ended:
    state = Path(tempfile.mkdtemp(prefix=f"rehearsal-{story.name}-"))
    environment = {
        **os.environ,
        "PLAYRUNNER_STATE_HOME": str(state),
        "KUBECONFIG": str(state / "config"),
    }

    def typed(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "playrunner", *words],
            cwd=ROOT,
            env=environment,
            stdout=subprocess.PIPE,
            stdin=subprocess.DEVNULL,
            text=True,
            check=False,
            timeout=PATIENCE_SECONDS,
        )

    started = time.monotonic()
    try:
        done = typed("rehearse", story.name, "--json")
        seconds = time.monotonic() - started
        stages = json.loads(done.stdout or "{}").get("stages", [])
        for stage in stages:
            print(f"  {stage['name']}: {stage.get('exit_code', 'not run')}", flush=True)
        changed = tuple(step for stage in stages for step in stage.get("changed", ()))
        programs, left = _look(story, state / "sandbox")
    finally:
        typed("sandbox.down")
    if not done.returncode:
        shutil.rmtree(state, ignore_errors=True)
    else:
        print(f"  its record: {state}")
    return Ended(story.name, seconds, done.returncode, changed, left, programs)


def _look(story: Story, sandbox: Path) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The programs that this machine has, and what they find."""
    found: dict[str, list[str]] = {}
    if shutil.which("kubectl"):
        found["kubectl"] = _in_cluster(sandbox / "kubeconfig.yaml")
    if story.cloud == "aws" and (aws := _aws_program()):
        found["aws"] = _in_aws(aws, json.loads((sandbox / "aws.json").read_text()))
    if story.cloud == "gcp":
        found |= _in_gcp(sandbox)
    return tuple(found), tuple(thing for things in found.values() for thing in things)


def _in_cluster(kubeconfig: Path) -> list[str]:
    listed = _asked(
        ["kubectl", "--kubeconfig", str(kubeconfig), "get", KINDS, "--all-namespaces", "-o", "json"]
    )
    found = [f"{one['kind']} {one['metadata']['name']}" for one in listed["items"]]
    return [each for each in found if each not in OF_THE_SANDBOX]


def _in_aws(program: str, record: dict[str, str]) -> list[str]:
    environment = {
        "AWS_ACCESS_KEY_ID": record["access_key_id"],
        "AWS_SECRET_ACCESS_KEY": record["secret_access_key"],
        "AWS_ENDPOINT_URL": record["endpoint_url"],
        "AWS_PAGER": "",
    }
    left = []
    for region in ("us-east-1", "us-west-2"):
        for question, of_itself in AWS.items():
            words = [program, *question.split(), "--region", region, "--output", "json"]
            things = next(iter(_asked(words, environment).values()))
            if len(things) > of_itself:
                left.append(f"{len(things) - of_itself} of {question} in {region}")
    return left


def _in_gcp(sandbox: Path) -> dict[str, list[str]]:
    """By plain requests, and with gcloud where it is installed."""
    from tests.support.gcp.sandbox import PretendGcp

    gcp = PretendGcp(sandbox)
    found = {"REST": [f"{kind} {things}" for kind, things in gcp.everything().items()]}
    if shutil.which("gcloud"):
        found["gcloud"] = [
            f"{len(things)} of {question}"
            for question in GCLOUD
            if (things := gcp.gcloud(*question.split()))
        ]
    return found


def _aws_program() -> str | None:
    places = [str(ROOT / ".venv-aws" / "bin"), os.environ.get("PATH", "")]
    return shutil.which("aws", path=os.pathsep.join(places))


def _asked(words: list[str], environment: dict[str, str] | None = None) -> dict[str, Any]:
    ran = subprocess.run(
        words,
        env={**os.environ, **(environment or {})},
        capture_output=True,
        text=True,
        check=False,
        timeout=180,
    )
    if ran.returncode:
        raise SystemExit(f"{' '.join(words)}: {ran.stderr.strip()}")
    return dict(json.loads(ran.stdout))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
