"""rehearse: the quickest two of the guides' stories, with their own profiles; `make rehearsals`
plays all of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.kube.test_all_roles import everything
from tests.support import runner
from tests.support.kube.module_stage import Api


# Their playbooks: train-on-eks-cpu.yaml and train-on-eks-trainium.yaml
@pytest.mark.parametrize(
    ("story", "profile"), [("eks-cpu", "mnist-mlp"), ("eks-trainium", "bert-large")]
)
def test_a_guides_own_profile_is_rehearsed_to_the_end(
    story: str, profile: str, tmp_path: Path
) -> None:
    pytest.importorskip(
        "moto", reason='the pretend AWS needs moto: pip install "playrunner[sandbox]"'
    )
    try:
        assert runner.invoke("sandbox.up", "--kube", state=tmp_path).code == 0
        api = Api(tmp_path / "sandbox" / "kubeconfig.yaml", "pretend")
        before = everything(api)
        started = runner.start(
            "rehearse", story, "--json", state=tmp_path, KUBECONFIG=str(tmp_path / "config")
        )
        done = runner.finish(started, 900)
        assert done.code == 0, done.text
        ran = {stage["name"]: stage["exit_code"] for stage in done.data["stages"]}
        names = ["check", "play", f"look {profile}", "again", "teardown", "audit"]
        assert ran == dict.fromkeys(names, 0)
        assert not any(stage["changed"] for stage in done.data["stages"])
        assert everything(api) - before == set()
        metrics = (tmp_path / "training" / "runs" / profile / "metrics.jsonl").read_text()
        assert metrics.strip(), "it trained"
    finally:
        runner.invoke("sandbox.down", "--yes", state=tmp_path)
