"""train.export: a run's model in a bucket, written by a pod with the role of its service account;
no keys are handed out."""

from __future__ import annotations

import hashlib
from typing import Any

from playrunner.errors import BadInput
from playrunner.kube.client.resource import Resource
from playrunner.options import Options
from playrunner.training.kube.one_off_job import Errand, send, tell
from playrunner.training.kube.run_view import ClusterRun
from playrunner.training.kube.selection import the_run
from playrunner.training.kube.site import Site, open_site
from playrunner.training.ssh.plan import LaunchRefused
from playrunner.variables.templating import MISSING

ACCOUNTS = Resource("v1", "ServiceAccount", "serviceaccounts", True)
ROLE = "eks.amazonaws.com/role-arn"
FOLDER = "trained-models"
_NO_SUCH = ("NoSuchEntity",)


def export(options: Options, name: str, to: str) -> int:
    site = open_site(options)
    run = the_run(site, name)
    if not run.summary.get("claim"):
        raise BadInput(
            f"{run.name} has no claim (train_claim): its checkpoints are in the store of"
            " checkpoint.upload already"
        )
    errand = export_errand(run, to or _bucket(site, run), site)
    code, told = send(errand, site, options)
    word = "is written to" if told.get("changed") else "is there already, in"
    names = ", ".join(told.get("files") or {})
    return tell(
        {"name": run.name, **told},
        code,
        errand.title,
        options,
        f"{run.name}: {told.get('checkpoint')} {word} {told.get('to')}: {names}",
    )


def export_errand(run: ClusterRun, to: str, site: Site) -> Errand:
    account = site.ground.service_account
    words = ("-m", "trainer.staging.publish", str(run.summary["output"]), to)
    key = hashlib.sha256(f"{run.name} {to}".encode()).hexdigest()[:6]
    return Errand(
        f"export-{run.name[:30].rstrip('-')}-{key}",
        f"exporting {run.name}",
        words,
        service_account=account,
        role_arn=role_arn(site, account) if account else "",
    )


def role_arn(site: Site, account: str) -> str:
    """The role that the service account is to have: said in the inventory, there already, or the
    one that eks.create made."""
    said = _value(site, "train_role_arn")
    if said:
        return str(said)
    if not _value(site, "aws_region"):
        return ""
    found = site.kube.get(ACCOUNTS, site.ground.namespace, account)
    if found and (found["metadata"].get("annotations") or {}).get(ROLE):
        return ""  # it has one, and it is not ours to change
    from playrunner.aws.client import Account, Aws, settings_of

    name = f"{_value(site, 'cluster_name')}-{account}"
    answer = Aws(Account(settings_of(lambda word: _value(site, word)))).read(
        "iam", "get_role", missing=_NO_SUCH, RoleName=name
    )
    if answer is None:
        raise LaunchRefused(
            f'there is no role "{name}" for service account {account}: add it to'
            " eks_service_accounts with the bucket's rights and run invoke eks.create, or set"
            " train_role_arn"
        )
    return str(answer["Role"]["Arn"])


def _bucket(site: Site, run: ClusterRun) -> str:
    bucket = _value(site, "bucket_name")
    if not bucket:
        raise BadInput(
            "say where to: --to s3://BUCKET/FOLDER, or bucket_name in the inventory (invoke"
            " bucket.create makes one)"
        )
    return f"s3://{bucket}/{FOLDER}/{run.name}"


def _value(site: Site, name: str) -> Any:
    found = site.scope.lookup(name)
    return "" if found is MISSING or found is None else str(found)
