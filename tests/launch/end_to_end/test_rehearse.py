"""rehearse: the quickest of the guides' stories, train-on-eks-cpu, with its own profile."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support import runner


def test_a_guides_own_profile_is_rehearsed_to_the_end(tmp_path: Path) -> None:
    pytest.importorskip(
        "moto", reason='the pretend AWS needs moto: pip install "playrunner[sandbox]"'
    )
    try:
        started = runner.start(
            "rehearse", "eks-cpu", "--json", state=tmp_path, KUBECONFIG=str(tmp_path / "config")
        )
        done = runner.finish(started, 900)
        assert done.code == 0, done.text
        ran = {stage["name"]: stage["exit_code"] for stage in done.data["stages"]}
        names = ["check", "play", "look mnist-mlp", "again", "teardown", "audit"]
        assert ran == dict.fromkeys(names, 0)
        metrics = (tmp_path / "training" / "runs" / "mnist-mlp" / "metrics.jsonl").read_text()
        assert metrics.strip(), "it trained"
    finally:
        runner.invoke("sandbox.down", "--yes", state=tmp_path)
