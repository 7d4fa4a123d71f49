"""What is done beside the runs of a cluster: data staged, graphs compiled first, models exported.
One sandbox for all of it."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from datetime import UTC, datetime
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from tests.support.aws.sandbox import PretendAws
from tests.support.launch.cluster import ClusterSite, cluster_site
from trainer.checkpoint.manifest import damage

ACCOUNT = "pytorch-training-sa"
BUCKET = "models"
ISSUER = "oidc.eks.us-west-2.amazonaws.com/id/0123456789ABCDEF0123456789ABCDEF"


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ClusterSite]:
    with cluster_site(tmp_path_factory.mktemp("jobs")) as made:
        yield made


@pytest.fixture(scope="module")
def account(cluster: ClusterSite) -> Iterator[PretendAws]:
    """A pretend AWS beside the cluster, with a bucket, and a role that trusts the service account
    alone."""
    pytest.importorskip(
        "moto", reason='the pretend AWS needs moto: pip install "playrunner[sandbox]"'
    )
    from playrunner.sandbox.aws.api import process

    root = cluster.state / "sandbox"
    try:
        up = PretendAws(root)
        up.client("s3").create_bucket(
            Bucket=BUCKET, CreateBucketConfiguration={"LocationConstraint": up.up.region}
        )
        provider = up.client("iam").create_open_id_connect_provider(
            Url=f"https://{ISSUER}", ThumbprintList=["0" * 40]
        )
        trust = {
            "Version": "2012-10-17",
            "Statement": [
                {
                    "Effect": "Allow",
                    "Action": "sts:AssumeRoleWithWebIdentity",
                    "Principal": {"Federated": provider["OpenIDConnectProviderArn"]},
                    "Condition": {
                        "StringEquals": {
                            f"{ISSUER}:sub": f"system:serviceaccount:default:{ACCOUNT}",
                            f"{ISSUER}:aud": "sts.amazonaws.com",
                        }
                    },
                }
            ],
        }
        up.client("iam").create_role(
            RoleName=f"rehearsal-{ACCOUNT}", AssumeRolePolicyDocument=json.dumps(trust)
        )
        yield up
    finally:
        process.down(root)


@pytest.fixture
def web(tmp_path: Path) -> Iterator[str]:
    """A web server with one file of a thousand bytes."""
    (tmp_path / "set.bin").write_bytes(bytes(1000))

    class Quiet(SimpleHTTPRequestHandler):
        def __init__(self, *words: Any) -> None:
            super().__init__(*words, directory=str(tmp_path))

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Quiet)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/set.bin"
    server.shutdown()
    server.server_close()


def test_data_is_staged_once_and_nothing_is_left_but_the_data(
    cluster: ClusterSite, web: str
) -> None:
    before = cluster.things()
    words = ("--source", web, "--into", "datasets/set", "--bytes", 1000, "--json")
    looked = cluster.ask("train.stage", *words, "--check")
    assert (looked.code, looked.data["state"]) == (0, "checked"), looked.text
    assert cluster.things() == before
    first = cluster.ask("train.stage", *words)
    assert first.code == 0, first.text
    assert (first.data["changed"], first.data["files"]) == (True, 1)
    assert (cluster.shared / "datasets" / "set" / "set.bin").stat().st_size == 1000
    again = cluster.ask("train.stage", *words)
    assert (again.code, again.data["changed"]) == (0, False), again.text
    short = cluster.ask("train.stage", "--source", web, "--into", "datasets/set", "--least", 4)
    assert short.code == 2 and "each of 4 processes needs one" in short.text
    assert cluster.things() == before


def test_llama_is_sharded_over_two_pods_and_its_checkpoint_is_complete(
    cluster: ClusterSite,
) -> None:
    cluster.install("pytorchjob")
    before = cluster.things()
    settings = ("train.log.every=1", "train.optimizer.lr=0.01", "train.evaluate.batches=1")
    trained = cluster.launch(
        "llama",
        "--nodes",
        2,
        "--launcher",
        "pytorchjob",
        profile="llama2-7b-smoke",
        settings=settings,
    )
    assert trained.code == 0, trained.text
    losses = cluster.recorded("llama")
    assert list(losses) == list(range(1, 9)) and losses[8] < losses[1], losses
    summary = json.loads((cluster.record("llama") / "run.json").read_text())
    assert (summary["strategy"], summary["world_size"]) == ("fsdp", 2)
    newest = max((cluster.shared / "runs" / "llama" / "output" / "checkpoints").glob("step-*"))
    assert (newest.name, damage(newest)) == ("step-00000008", "")
    assert len(list(newest.glob("*.distcp"))) == 2, "each rank wrote its shard"
    assert cluster.ask("train.stop", "--name", "llama").code == 0
    cluster.await_that(lambda: cluster.things() == before, "the end of all that it had made")


def test_what_could_not_be_staged_is_refused_before_anything_is_sent(cluster: ClusterSite) -> None:
    outside = cluster.ask("train.stage", "--source", "s3://bucket/set", "--into", "../elsewhere")
    assert outside.code == 5 and "a folder below the claim" in outside.text
    cluster.say(train_claim="none-such")
    try:
        nowhere = cluster.ask("train.stage", "--source", "s3://bucket/set", "--into", "set")
    finally:
        cluster.say()
    assert nowhere.code == 6 and "there is no claim none-such" in nowhere.text


def test_a_model_goes_to_the_bucket_with_the_role_of_its_service_account_and_no_other(
    cluster: ClusterSite, account: PretendAws
) -> None:
    where = {
        "aws_region": account.up.region,
        "aws_endpoint_url": account.up.endpoint_url,
        "aws_profile": "sandbox",
        "aws_credentials_file": str(account.root / "aws-credentials"),
        "bucket_name": BUCKET,
    }
    trained = cluster.launch(
        "cpu-example", "--nodes", 1, profile="mnist-mlp-smoke", settings=("train.steps=2",)
    )
    assert trained.code == 0, trained.text
    before = cluster.things()
    try:
        cluster.say(**where, train_service_account="somebody-else", train_role_arn=_role(account))
        stranger = cluster.ask("train.export", "--name", "cpu-example")
        assert stranger.code == 2 and "AssumeRoleWithWebIdentity" in stranger.text, stranger.text
        cluster.say(**where, train_service_account=ACCOUNT)
        written = cluster.ask("train.export", "--name", "cpu-example", "--json")
        assert written.code == 0, written.text
        again = cluster.ask("train.export", "--name", "cpu-example", "--json")
    finally:
        cluster.say()
    assert (written.data["changed"], written.data["to"]) == (
        True,
        f"s3://{BUCKET}/trained-models/cpu-example",
    )
    assert (again.code, again.data["changed"]) == (0, False), again.text
    kept = (
        account.client("s3")
        .get_object(Bucket=BUCKET, Key="trained-models/cpu-example/model.safetensors")["Body"]
        .read()
    )
    assert len(kept) == written.data["files"]["model.safetensors"]
    assert [call["error"] for call in account.calls("AssumeRoleWithWebIdentity")][-1] is None
    assert cluster.things() == before


def _role(account: PretendAws) -> str:
    found: str = account.client("iam").get_role(RoleName=f"rehearsal-{ACCOUNT}")["Role"]["Arn"]
    return found


def test_graphs_are_compiled_before_training_and_a_failed_one_stops_the_story(
    cluster: ClusterSite,
) -> None:
    words = ("--profile", "bert-large-smoke", "--nodes", 1, "--set", "train.steps=400", "--json")
    caches = cluster.shared / "neuron_cache"
    caches.mkdir(parents=True, exist_ok=True)
    before = cluster.things()
    (caches / "fail").touch()
    failed = cluster.ask("train.precompile", *words)
    assert (failed.code, failed.data["reason"]) == (2, "1 of 2 graphs were not compiled"), (
        failed.text
    )
    (caches / "fail").unlink()
    compiled = cluster.ask("train.precompile", *words)
    assert compiled.code == 0, compiled.text
    assert (compiled.data["graphs"], compiled.data["compiled"], compiled.data["failed"]) == (
        2,
        2,
        0,
    )
    assert len(list((caches / "bert-large-smoke_0").glob("*.neff"))) == 2
    assert max(cluster.recorded("bert-large-smoke-precompile")) == 10, (
        "ten steps are enough, whatever the profile says"
    )
    again = cluster.ask("train.precompile", *words)
    assert (again.code, again.data["changed"]) == (0, False), again.text
    assert cluster.things() == before


def test_a_cacheset_belongs_to_one_job_at_a_time(cluster: ClusterSite) -> None:
    lease = {
        "metadata": {"name": "cacheset-bert-large-smoke"},
        "spec": {
            "holderIdentity": "other-run",
            "acquireTime": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ"),
        },
    }
    leases = "/apis/coordination.k8s.io/v1/namespaces/default/leases"
    assert cluster.api.call("POST", leases, lease)["kind"] == "Lease"
    before = cluster.things()
    try:
        refused = cluster.ask("train.precompile", "--profile", "bert-large-smoke", "--nodes", 1)
    finally:
        cluster.api.call("DELETE", f"{leases}/cacheset-bert-large-smoke")
    assert refused.code == 6 and "in use by other-run" in refused.text, refused.text
    cluster.say(train_cacheset="bert large")
    try:
        misnamed = cluster.ask("train.precompile", "--profile", "bert-large-smoke", "--nodes", 1)
    finally:
        cluster.say()
    assert misnamed.code == 5 and "letters, digits, - and _ only" in misnamed.text, misnamed.text
    assert cluster.things() == before
