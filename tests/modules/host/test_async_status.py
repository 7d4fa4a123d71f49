"""host.async_status."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from playrunner.hostside.async_job import async_folder
from playrunner.modules.host.async_status import AsyncStatus
from tests.support.host.performing import done, failure


@pytest.fixture(autouse=True)
def jobs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path))
    folder = Path(async_folder())
    folder.mkdir(parents=True)
    return folder


def test_a_job_that_still_runs_is_not_finished(jobs: Path) -> None:
    (jobs / "1.2").write_text(json.dumps({"started": True, "finished": False, "changed": True}))
    result = done(AsyncStatus(jid="1.2"))
    assert not result["finished"] and result["started"] and not result["changed"]
    assert result["results_file"] == str(jobs / "1.2")


def test_a_finished_job_gives_its_own_result(jobs: Path) -> None:
    (jobs / "1.2").write_text(
        json.dumps({"started": True, "finished": True, "changed": True, "rc": 0, "stdout": "hi"})
    )
    result = done(AsyncStatus(jid="1.2"))
    assert (result["finished"], result["changed"], result["stdout"]) == (True, True, "hi")


def test_a_failed_job_fails_with_its_own_words(jobs: Path) -> None:
    (jobs / "1.2").write_text(
        json.dumps({"finished": True, "failed": True, "msg": "non-zero return code", "rc": 3})
    )
    failed = failure(AsyncStatus(jid="1.2"))
    assert (
        str(failed) == "non-zero return code"
        and failed.values["rc"] == 3
        and failed.values["finished"]
    )


def test_an_unknown_job_is_a_failure(jobs: Path) -> None:
    assert str(failure(AsyncStatus(jid="9.9"))) == "could not find job"


def test_a_job_cannot_be_looked_for_elsewhere(jobs: Path, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text('{"finished": true}')
    assert "could not find job" in str(failure(AsyncStatus(jid="../../secret")))


def test_cleaning_up_forgets_the_job(jobs: Path) -> None:
    (jobs / "1.2").write_text('{"finished": true}')
    assert done(AsyncStatus(jid="1.2", mode="cleanup"), check=True)["erased"] == str(jobs / "1.2")
    assert (jobs / "1.2").exists()
    done(AsyncStatus(jid="1.2", mode="cleanup"))
    assert not (jobs / "1.2").exists()
