"""A signed address of data: on no command line, in no Job, and fetched all the same."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from playrunner.errors import BadInput
from playrunner.training.data.request import ENVIRONMENT, STDIN, StageRequest, given_source
from playrunner.training.kube.one_off.job_pod import _pod
from playrunner.training.kube.session import ClusterSettings
from playrunner.training.kube.stage import stage_job
from tests.support.signed_store import CONTENT, SIGNATURE, signed_store

SIGNED = "https://store.test/data/train.jsonl?X-Signature=hush"


@pytest.fixture
def server() -> Iterator[str]:
    with signed_store() as port:
        yield f"http://127.0.0.1:{port}/train.jsonl{SIGNATURE}"


@pytest.mark.parametrize("way", [STDIN, ENVIRONMENT])
def test_it_is_read_from_where_no_process_list_shows_it(
    server: str, way: str, tmp_path: Path
) -> None:
    request = StageRequest(server, "texts")
    words = request.words(str(tmp_path / "texts"), way)
    assert "hush" not in " ".join(words)
    done = subprocess.run(
        [sys.executable, "-m", "trainer.staging", *words],
        input=f"{server}\n" if way == STDIN else "",
        env={**os.environ, "TRAINER_SOURCE": server if way == ENVIRONMENT else ""},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert (tmp_path / "texts" / "train.jsonl").read_bytes() == CONTENT
    assert "hush" not in done.stdout + done.stderr
    assert "hush" not in (tmp_path / "texts" / "staged.json").read_text()


def test_a_job_has_it_in_a_secret_alone() -> None:
    job = stage_job(StageRequest(SIGNED, "texts"), ClusterSettings(image="i", claim="c"))
    assert job.secrets == {"TRAINER_SOURCE": SIGNED}
    pod = _pod(job, ClusterSettings(image="i", claim="c"))
    assert "hush" not in json.dumps(pod)
    assert pod["containers"][0]["envFrom"] == [{"secretRef": {"name": job.id}}]
    plain = stage_job(StageRequest("s3://bucket/x", "x"), ClusterSettings(image="i", claim="c"))
    assert not plain.secrets and "s3://bucket/x" in plain.words


def test_a_user_names_a_file_or_a_variable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "address").write_text(f"{SIGNED}\n")
    monkeypatch.setenv("DATA_ADDRESS", SIGNED)
    assert given_source(f"@{tmp_path}/address") == given_source("env:DATA_ADDRESS") == SIGNED
    assert given_source("s3://bucket/set") == "s3://bucket/set"
    with pytest.raises(BadInput, match="NOT_THERE is not set"):
        given_source("env:NOT_THERE")
    with pytest.raises(BadInput, match="cannot be read"):
        given_source(f"@{tmp_path}/missing")
