"""The declared data sets: every profile's data is one of them, and bad declarations are refused
with their place."""

from __future__ import annotations

from pathlib import Path

import pytest

from playrunner.errors import BadInput
from playrunner.sandbox.datasets import stand_ins
from playrunner.training.data.declared import declared, on_mirror, read_by
from playrunner.training.data.request import StageRequest, resolved, target_of
from trainer.profile import read_profile

PROFILES = sorted(
    path.stem
    for path in (Path(__file__).parents[3] / "trainer" / "profiles").glob("*.yaml")
    if not path.stem.endswith("-smoke")
)
BERT = "bert_pretrain_wikicorpus_tokenized_hdf5_seqlen128"


def nothing(name: str) -> None:
    return None


@pytest.mark.parametrize("profile", PROFILES)
def test_every_profile_reads_a_declared_data_set(profile: str) -> None:
    data = read_profile(profile, ()).train.data
    assert data.source == "synthetic" or read_by(declared(), data) is not None


def test_the_guides_own_address_of_berts_shards_is_staged_where_the_profile_reads_it() -> None:
    request = resolved(StageRequest("", "", profile="bert-large"), (), nothing)
    assert request.source == (
        "s3://neuron-s3/training_datasets/bert_pretrain_wikicorpus_tokenized_hdf5/" + BERT + ".tar"
    )
    assert (request.unpack, request.anonymous, request.region) == (True, True, "us-east-1")
    assert request.least == 64, "a shard for each of 2 x 32 processes"
    assert target_of(request, "/data") == f"/data/{BERT}"


def test_a_claim_mounted_elsewhere_gets_the_data_below_its_own_mount() -> None:
    request = resolved(StageRequest("", "", profile="bert-large"), (), nothing)
    assert target_of(request, "/home") == f"/home/{BERT}"


def test_a_mirror_serves_the_same_files_with_the_same_checksums() -> None:
    sets = declared()
    mnist = on_mirror(sets["mnist"], "https://mirror.test/sets/")
    assert mnist.source == "https://mirror.test/sets/mnist/"
    assert mnist.files == sets["mnist"].files and all(mnist.files.values())
    bert = on_mirror(sets["bert-wikicorpus-128"], "gs://bucket/sets")
    assert bert.source == f"gs://bucket/sets/bert-wikicorpus-128/{BERT}.tar"
    assert (bert.anonymous, bert.region) == (False, "")


def test_an_inventory_replaces_a_source_and_with_it_the_files_it_had() -> None:
    own = declared({"mnist": {"source": "s3://mine/mnist"}})["mnist"]
    assert (own.source, dict(own.files), own.into) == ("s3://mine/mnist", {}, "MNIST")


@pytest.mark.parametrize(
    ("settings", "why"),
    [
        ({"sorce": "s3://x/y"}, 'no setting "sorce"; did you mean "source"?'),
        ({"into": "../up"}, "a folder below the claim"),
        ({"format": "zip"}, 'format "zip" is none of'),
        ({"files": {"a": "123"}}, "no SHA-256"),
        ("text", "must be a mapping"),
    ],
)
def test_a_bad_declaration_is_refused(settings: object, why: str) -> None:
    with pytest.raises(BadInput, match="data set mnist") as refused:
        declared({"mnist": settings})
    assert why in str(refused.value)


def test_a_bad_declaration_of_the_project_is_refused_with_file_and_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "manifests").mkdir()
    (tmp_path / "manifests" / "datasets.yaml").write_text(
        "\nmine: {source: s3://x/y, into: mine, format: tex}\n"
    )
    monkeypatch.chdir(tmp_path)
    with pytest.raises(BadInput) as refused:
        declared()
    assert "manifests/datasets.yaml:2" in str(refused.value)


def test_every_declared_data_set_has_a_stand_in_of_its_format(tmp_path: Path) -> None:
    pytest.importorskip("h5py")
    made = stand_ins.make(tmp_path, "http://127.0.0.1:1")
    assert set(made) == set(declared())
    rehearsed = declared(made)
    for name, real in declared().items():
        stand_in = rehearsed[name]
        assert (stand_in.into, stand_in.format, stand_in.unpack, stand_in.hub) == (
            real.into,
            real.format,
            real.unpack,
            real.hub,
        )
        assert all(stand_in.files.values())
        if real.files:
            assert set(stand_in.files) == set(real.files)


def test_synthetic_and_undeclared_hub_data_need_no_staging() -> None:
    smoke = resolved(StageRequest("", "", profile="gpt2-micro-smoke"), (), nothing)
    assert (smoke.source, smoke.title) == ("", "synthetic data")
    other = ("train.data.dataset=someone/else",)
    hub = resolved(StageRequest("", "", profile="gpt2-micro"), other, nothing)
    assert (hub.source, hub.title) == ("", "someone/else of the hub")


def test_only_a_hubs_data_set_may_be_left_where_it_is() -> None:
    def optional(profile: str, source: str = "") -> bool:
        return resolved(StageRequest(source, "", profile=profile), (), nothing).optional

    assert optional("llama2-7b") and optional("gpt2-micro")
    assert not optional("bert-large") and not optional("gpt2-micro", "s3://mine/texts")
