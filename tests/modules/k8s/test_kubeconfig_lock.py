"""The file of kubectl's contexts can be written after a process was killed while it wrote it."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from playrunner.hostside.module import Failed
from playrunner.kube.kubeconfig import file as contexts

# Killed as soon as the lock is there, before anything else is done
_KILLED = """
import os, signal, sys
from pathlib import Path
from playrunner.kube.kubeconfig import file as contexts

def look(frame, event, argument):
    if os.access(sys.argv[1] + ".lock", os.F_OK):
        os.kill(os.getpid(), signal.SIGKILL)

sys.setprofile(look)
with contexts.editing(Path(sys.argv[1])):
    pass
"""


def test_the_lock_of_a_killed_process_is_not_waited_for(tmp_path: Path) -> None:
    file = tmp_path / "config"
    ended = subprocess.run([sys.executable, "-c", _KILLED, str(file)])
    assert ended.returncode == -signal.SIGKILL and Path(f"{file}.lock").exists()
    with contexts.editing(file) as content:
        contexts.put(content, "cluster", "mine", {"server": "https://10.0.0.1"})
    assert contexts.entry(contexts.read(file), "cluster", "mine") and not _locks(tmp_path)


def test_one_of_a_process_that_runs_is_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(contexts, "LOCK_SECONDS", 0.2)
    file = tmp_path / "config"
    with (
        contexts.editing(file),
        pytest.raises(Failed, match=r"config\.lock is there"),
        contexts.editing(file),
    ):
        pass
    assert not _locks(tmp_path)


def _locks(folder: Path) -> list[Path]:
    return list(folder.glob("*.lock"))
