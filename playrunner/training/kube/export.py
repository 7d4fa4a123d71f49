"""train.export: a run's model in a bucket, written by a pod with the role of its service account;
no keys are handed out."""

from __future__ import annotations

import hashlib

from playrunner.errors import BadInput
from playrunner.kube.client.resource import Resource
from playrunner.options import Options
from playrunner.project import program
from playrunner.training.inventory_scope import value_of
from playrunner.training.kube.one_off.job_pod import OneOffJob
from playrunner.training.kube.one_off.one_off_job import submit, tell
from playrunner.training.kube.runs.run_view import ClusterRun
from playrunner.training.kube.runs.selection import the_run
from playrunner.training.kube.session import ClusterSession, open_session
from playrunner.training.request import LaunchRefused

ACCOUNTS = Resource("v1", "ServiceAccount", "serviceaccounts", True)
ROLE = "eks.amazonaws.com/role-arn"
FOLDER = "trained-models"
_NO_SUCH = ("NoSuchEntity",)


def export(options: Options, name: str, to: str) -> int:
    session = open_session(options)
    run = the_run(session, name)
    if not run.summary.get("claim"):
        raise BadInput(
            f"{run.name} has no claim (train_claim): its checkpoints are in the store of"
            " checkpoint.upload already"
        )
    job = export_job(run, to or _bucket(session, run), session)
    code, result = submit(job, session, options)
    word = "is written to" if result.get("changed") else "is there already, in"
    names = ", ".join(result.get("files") or {})
    return tell(
        {"name": run.name, **result},
        code,
        job.title,
        options,
        f"{run.name}: {result.get('checkpoint')} {word} {result.get('to')}: {names}",
    )


def export_job(run: ClusterRun, to: str, session: ClusterSession) -> OneOffJob:
    account = session.settings.service_account
    words = ("-m", "trainer.staging.publish", str(run.summary["output"]), to)
    key = hashlib.sha256(f"{run.name} {to}".encode()).hexdigest()[:6]
    return OneOffJob(
        f"export-{run.name[:30].rstrip('-')}-{key}",
        f"exporting {run.name}",
        words,
        service_account=account,
        role_arn=role_arn(session, account) if account else "",
    )


def role_arn(session: ClusterSession, account: str) -> str:
    """The role that the service account is to have: said in the inventory, there already, or the
    one that eks.create made."""
    said = _value(session, "train_role_arn")
    if said:
        return str(said)
    if not _value(session, "aws_region"):
        return ""
    found = session.kube.get(ACCOUNTS, session.settings.namespace, account)
    if found and (found["metadata"].get("annotations") or {}).get(ROLE):
        return ""  # it has one, and it is not ours to change
    from playrunner.aws.client import Account, Aws, settings_of

    name = f"{_value(session, 'cluster_name')}-{account}"
    answer = Aws(Account(settings_of(lambda word: _value(session, word)))).read(
        "iam", "get_role", missing=_NO_SUCH, RoleName=name
    )
    if answer is None:
        raise LaunchRefused(
            f'there is no role "{name}" for service account {account}: add it to'
            f" eks_service_accounts with the bucket's rights and run {program()} eks.create, or set"
            " train_role_arn"
        )
    return str(answer["Role"]["Arn"])


def _bucket(session: ClusterSession, run: ClusterRun) -> str:
    bucket = _value(session, "bucket_name")
    if not bucket:
        raise BadInput(
            f"say where to: --to s3://BUCKET/FOLDER, or bucket_name in the inventory ({program()}"
            " bucket.create makes one)"
        )
    return f"s3://{bucket}/{FOLDER}/{run.name}"


def _value(session: ClusterSession, name: str) -> str:
    return str(value_of(session.scope, name, ""))
