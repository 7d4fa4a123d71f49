"""The jobs of a script of the user's own, by every launcher of clusters."""

from __future__ import annotations

import json

import pytest

from playrunner.training.kube.script import script_files
from playrunner.training.kube.session import ClusterSettings
from playrunner.training.launchers import CLUSTER_LAUNCHERS
from playrunner.training.request import LaunchRefused
from tests.support.launch.rendered import (
    cpus,
    own_state,  # noqa: F401
)
from tests.support.launch.rendering import planned, rendered

SCRIPT = (
    'script="mine/train.py"',
    'code="/nowhere"',
    'args=["--out", "$CHECKPOINT_DIR", "--text", "$(HOME)"]',
    'setup="pip install -r $(ls *.txt)"',
)


@pytest.mark.parametrize("launcher", CLUSTER_LAUNCHERS)
def test_pods_run_the_script_in_the_claims_folder_and_expand_nothing_of_it(launcher: str) -> None:
    job = planned(launcher, "", cpus(), 2, overrides=SCRIPT)
    text = json.dumps(rendered(job))
    words = ["-m", "trainer.script", "/data/runs/bert/work", "mine/train.py"]
    words += ["--out", "$$CHECKPOINT_DIR", "--text", "$$(HOME)"]
    assert json.dumps(words)[1:-1] in text, "a doubled $ is a $ to Kubernetes"
    for name, value in (
        ("RUN_DIR", "/data/runs/bert/output"),
        ("CHECKPOINT_DIR", "/data/runs/bert/output/checkpoints"),
        ("TRAINER_WORK", "/data/runs/bert/work"),
        ("TRAINER_SETUP", "pip install -r $$(ls *.txt)"),
    ):
        assert json.dumps({"name": name, "value": value}) in text
    assert job.summary()["script"] == "mine/train.py"


def test_a_script_without_a_claim_is_refused_with_the_setting_that_is_missing() -> None:
    job = planned("job", "", cpus(), 2, overrides=SCRIPT)
    with pytest.raises(LaunchRefused, match="set train_claim to a ReadWriteMany claim"):
        script_files(job.profile, ClusterSettings())
