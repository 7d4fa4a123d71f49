"""Endings on clusters say at which step the run saved last."""

from __future__ import annotations

from pathlib import Path

import pytest

from playrunner.training.kube.runs.saved_steps import last_saved, saved_text
from playrunner.training.runs.record import Record


def test_the_newest_checkpoint_is_told_by_the_pods_own_output(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PLAYRUNNER_STATE_HOME", str(tmp_path))
    record = Record("mine")
    assert saved_text(record, "mine-1") == "it saved no checkpoint"
    record.write_log("mine-1-worker-0", "[0] saving step 20\n[0] step 25 loss 1.0\n")
    record.write_log(
        "mine-1-worker-1", "[1] ---saving checkpoint at epoch:0 and iteration: 40\nsaving step 9x\n"
    )
    record.write_log("mine-0-worker-0", "[0] saving step 999\n")
    record.close()
    assert last_saved(record, "mine-1") == 40
    assert saved_text(record, "mine-1") == "it last saved at step 40"
