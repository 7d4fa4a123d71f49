"""Data brought to a cluster's claim: a stand-in of BERT's shards, unpacked and opened by its
reader; a launch without data is refused."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from playrunner.sandbox.datasets import process as datasets
from playrunner.sandbox.datasets.stand_ins import BERT, SHARDS
from tests.support.launch.cluster import ClusterSite, cluster_site
from tests.support.launch.site import SHORT
from tests.support.signed_store import CONTENT, SIGNATURE, signed_store


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ClusterSite]:
    with cluster_site(tmp_path_factory.mktemp("claims")) as made:
        root = made.state / "sandbox"
        datasets.up(root)
        try:
            declared = json.loads(datasets.record_file(root).read_text())["datasets"]
            made.say(train_datasets=declared)
            yield made
        finally:
            datasets.down(root)


def test_berts_shards_are_staged_without_nesting_and_their_reader_opens_them(
    cluster: ClusterSite,
) -> None:
    pytest.importorskip("h5py")
    before = cluster.things()
    first = cluster.ask("train.stage", "--profile", "bert-large", "--json")
    assert (first.code, first.data["changed"]) == (0, True), first.text
    assert (first.data["folder"], first.data["files"]) == (f"/data/{BERT}", SHARDS)
    again = cluster.ask("train.stage", "--profile", "bert-large", "--json")
    assert (again.code, again.data["changed"]) == (0, False), again.text
    assert cluster.things() == before

    from trainer.data.hdf5 import BertShards
    from trainer.profile import read_profile

    model = read_profile("bert-large", ()).train.model
    shards = BertShards(cluster.shared / BERT, 128, model, world_size=64)
    assert len(shards.files) == SHARDS and len(shards) > 0
    import numpy as np

    assert shards.take(np.arange(3))["input"].shape == (3, 128)


def test_a_launch_looks_for_its_data_where_its_pods_will_read_it(cluster: ClusterSite) -> None:
    before = cluster.things()
    early = cluster.launch("digits", "--nodes", 1, profile="mnist-mlp", settings=SHORT)
    assert early.code == 6, early.text
    assert "data.path /app/MNIST: no such file or folder" in early.text
    assert "bring it with: invoke train.stage --profile mnist-mlp --inventory" in early.text
    assert cluster.things() == before
    staged = cluster.ask("train.stage", "--profile", "mnist-mlp", "--json")
    assert (staged.code, staged.data["folder"]) == (0, "/data/MNIST"), staged.text
    trained = cluster.launch("digits", "--nodes", 1, profile="mnist-mlp", settings=SHORT)
    assert trained.code == 0, trained.text
    assert sorted(cluster.recorded("digits")) == [1, 2, 3, 4]
    assert cluster.ask("train.stop", "--name", "digits").code == 0
    cluster.await_that(lambda: cluster.things() == before, "the end of all that it had made")


def test_the_folder_of_runs_is_opened_once_for_a_profile_that_reads_no_data(
    cluster: ClusterSite,
) -> None:
    shutil.rmtree(cluster.shared / "runs", ignore_errors=True)
    first = cluster.ask("train.stage", "--profile", "gpt2-micro-smoke", "--json")
    assert (first.code, first.data["changed"]) == (0, True), first.text
    assert first.data["opened"] == ["/data/runs"] and (cluster.shared / "runs").is_dir()
    again = cluster.ask("train.stage", "--profile", "gpt2-micro-smoke", "--json")
    assert (again.code, again.data["changed"]) == (0, False), again.text


def test_a_folder_of_this_machine_is_sent_to_the_claim_and_a_second_time_nothing_is(
    cluster: ClusterSite, tmp_path: Path
) -> None:
    own = tmp_path / "texts"
    own.mkdir()
    (own / "a.txt").write_text("some text\n" * 50_000)
    before = cluster.things()
    words = ("train.stage", "--profile", "gpt2-elastic", "--source", own, "--json")
    first = cluster.ask(*words)
    assert (first.code, first.data["changed"]) == (0, True), first.text
    assert first.data["folder"] == "/data/text"
    assert (cluster.shared / "text" / "a.txt").read_bytes() == (own / "a.txt").read_bytes()
    again = cluster.ask(*words)
    assert (again.code, again.data["changed"]) == (0, False), again.text
    assert cluster.things() == before


def test_a_signed_address_reaches_its_pod_in_a_secret_that_goes_with_the_job(
    cluster: ClusterSite, tmp_path: Path
) -> None:
    address = tmp_path / "address"
    before = cluster.things()
    words = ("train.stage", "--into", "signed", "--json", "--source")
    with signed_store() as port:
        plain = f"http://127.0.0.1:{port}/own.txt"
        address.write_text(plain + SIGNATURE + "\n")
        refused = cluster.ask(*words, plain)
        assert refused.code and "403" in refused.text, refused.text
        done = cluster.ask(*words, f"@{address}")
        assert (done.code, done.data["changed"]) == (0, True), done.text
        assert (cluster.shared / "signed" / "own.txt").read_bytes() == CONTENT
        again = cluster.ask(*words, f"@{address}")
        assert (again.code, again.data["changed"]) == (0, False), again.text
    assert cluster.things() == before, "its Secret, too"
    assert "hush" not in refused.text + done.text + again.text
    kept = [file for file in cluster.state.rglob("*") if file.is_file()]
    assert not [file for file in kept if b"hush" in file.read_bytes()], "no record has it"
