"""train.shell over SSH."""

from __future__ import annotations

import os
import pty
import subprocess
import sys

import pytest

from tests.support.launch.holding import Holding
from tests.support.launch.site import Site
from tests.support.runner import REPOSITORY
from tests.support.terminal import read_to_end, read_until, take_terminal


def test_a_shell_is_on_the_ranks_node_in_the_runs_folder_with_its_variables_but_no_secret(
    site: Site, tmp_path_factory: pytest.TempPathFactory
) -> None:
    runs = Holding(site, tmp_path_factory.mktemp("shell"))
    begun = site.invoke(
        *runs.words("looked-into", "--detach", "--secret", "HUB_PASS"), HUB_PASS="not-for-shells"
    )
    assert begun.code == 0, begun.text
    runs.await_running("looked-into")
    shell = ("train.shell", "--name", "looked-into")
    once = site.invoke(*shell, "--rank", 1, "--json", "--", "sh", "-c", "pwd; env; exit 3")
    assert once.code == 2 and once.data["rc"] == 3 and once.data["host"] == "node2", once.text
    folder, *variables = once.data["stdout"].splitlines()
    assert folder == str(site.folder("looked-into") / "work")
    assert "RANK=1" in variables and f"RUN_DIR={site.folder('looked-into')}/output" in variables
    assert "not-for-shells" not in once.text
    assert not [each for each in variables if each.startswith(("PLAYRUNNER_RUN=", "TRAINER_"))]
    before = set(site.processes("looked-into"))

    master, slave = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "invoke", *shell],
        cwd=REPOSITORY,
        stdin=slave,
        stdout=slave,
        stderr=slave,
        start_new_session=True,
        preexec_fn=take_terminal,
        env={**os.environ, "PLAYRUNNER_STATE_HOME": str(site.state), "TERM": "dumb"},
    )
    os.close(slave)
    assert "on node1" in read_until(master, "/work")
    os.write(master, b"echo rank-is-$RANK\nexit\n")
    assert "rank-is-0" in read_to_end(master)
    assert process.wait(30) == 0
    os.close(master)
    assert set(site.processes("looked-into")) == before, "the shell is no part of the run"

    refused = site.invoke(*shell, "--rank", 7, "--", "true")
    assert refused.code == 5 and "has ranks 0 to 1, no 7" in refused.err, refused.text
    untyped = site.invoke(*shell)
    assert untyped.code == 5 and "one command does not" in untyped.err, untyped.text
    runs.end("looked-into")
