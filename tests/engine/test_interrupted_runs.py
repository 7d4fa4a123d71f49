"""Runs that are interrupted, killed, out of disk, or started twice."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
from pathlib import Path

import pytest

from playrunner.options import Options
from playrunner.playbook import load_playbook
from playrunner.run.run import run_plays
from tests.support.faults import (
    own,  # noqa: F401
    root_only,
)
from tests.support.runner import Stage
from tests.support.sshd import NodeSet
from tests.support.until import until


def processes(text: str) -> list[int]:
    """Processes whose command line holds this text."""
    listed = subprocess.run(
        ["ps", "-eo", "pid,args"], capture_output=True, text=True, check=True
    ).stdout
    return [
        int(line.split()[0])
        for line in listed.splitlines()
        if text in line and "ps -eo" not in line
    ]


def test_control_c_ends_remote_work_and_prints_the_recap(own: tuple[NodeSet, Stage]) -> None:
    nodes, stage = own
    running = stage.start(
        """
- hosts: nodes
  gather_facts: false
  tasks:
    - {name: mark, copy: {content: here, dest: "{{ scratch }}/mark"}}
    - {name: long, command: sleep 98765}
    - {name: never, copy: {content: no, dest: "{{ scratch }}/never"}}
""",
        as_json=False,
    )
    until(lambda: len(processes("sleep 98765")) >= 2, what="both commands running")

    running.send_signal(signal.SIGINT)
    out, err = running.communicate(timeout=30)

    assert running.returncode == 130, out + err
    assert "RECAP" in out
    until(lambda: not processes("sleep 98765"), what="the commands' end")
    assert not any((node.scratch / "never").exists() for node in nodes)
    shown = stage.invoke("runs.show", "--json")
    assert shown.data["recap"]["exit_code"] == 130


def test_control_c_while_hosts_are_started_ends_a_run_as_at_any_other_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "hosts").write_text("a ansible_connection=local\nb ansible_connection=local\n")
    (tmp_path / "play.yaml").write_text(
        "- {hosts: all, gather_facts: false, tasks: [{name: step, command: 'true'}]}\n"
    )
    start = threading.Thread.start

    def interrupted(thread: threading.Thread) -> None:
        if thread.name == "b":
            raise KeyboardInterrupt
        start(thread)

    monkeypatch.setenv("PLAYRUNNER_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setattr(threading.Thread, "start", interrupted)
    options = Options((str(tmp_path / "hosts"),), quiet=True)
    assert run_plays(load_playbook(tmp_path / "play.yaml"), options, "test") == 130


def test_a_killed_controller_leaves_nothing_half_written_and_the_next_run_finishes(
    own: tuple[NodeSet, Stage],
) -> None:
    nodes, stage = own
    big = stage.folder / "big"
    big.write_bytes(os.urandom(30_000_000))
    playbook = f"""
- hosts: nodes
  gather_facts: false
  tasks:
    - {{name: mark, copy: {{content: here, dest: "{{{{ scratch }}}}/mark"}}}}
    - {{name: big, copy: {{src: {big}, dest: "{{{{ scratch }}}}/big"}}}}
    - {{name: linger, command: sleep 87654}}
"""
    running = stage.start(playbook)
    until(lambda: all((node.scratch / "mark").exists() for node in nodes), what="the first step")
    running.kill()
    running.communicate()

    until(lambda: not processes("sleep 87654"), what="the agents' end")
    for node in nodes:
        found = node.scratch / "big"
        assert not found.exists() or found.read_bytes() == big.read_bytes()
    again = stage.play(playbook.replace("sleep 87654", "sleep 0"))
    assert again.code == 0, again.text
    for node in nodes:
        assert (node.scratch / "big").read_bytes() == big.read_bytes()
        until(
            lambda node=node: (
                sorted(path.name for path in node.scratch.iterdir()) == ["big", "mark"]
            ),
            what="no temporary file left",
        )


@root_only
def test_a_full_disk_is_a_clear_failure_and_leaves_no_scrap(
    stage: Stage, nodes: NodeSet, tmp_path: Path
) -> None:
    node = nodes["node1"]
    small = node.scratch / tmp_path.name / "small"
    small.mkdir()
    if subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=256k", "none", str(small)], capture_output=True
    ).returncode:
        pytest.skip("mounting is not permitted here")
    try:
        (small / "file").write_text("before")
        big = tmp_path / "big"
        big.write_bytes(os.urandom(1_000_000))
        outcome = stage.play(f"""
- hosts: nodes
  gather_facts: false
  tasks:
    - name: big
      copy: {{src: {big}, dest: "{{{{ home }}}}/small/file"}}
      when: inventory_hostname == 'node1'
    - {{name: after, ping: }}
""")
        assert outcome.code == 2
        assert "No space left on device" in outcome.result("node1", "big")["values"]["msg"]
        assert outcome.counts("node2")["ok"] == 1
        assert (small / "file").read_text() == "before"
        assert [path.name for path in small.iterdir()] == ["file"]
    finally:
        subprocess.run(["umount", str(small)], check=True)


def test_two_runs_on_one_inventory_do_not_mix(own: tuple[NodeSet, Stage]) -> None:
    nodes, stage = own
    first = stage.start("""
- hosts: nodes
  gather_facts: false
  tasks:
    - {copy: {content: here, dest: "{{ scratch }}/mark"}}
    - {wait_for: {path: "{{ scratch }}/go", timeout: 30}}
""")
    until(
        lambda: all((node.scratch / "mark").exists() for node in nodes),
        what="the first run at work",
    )
    ping = stage.write("- hosts: nodes\n  gather_facts: false\n  tasks: [{ping: }]\n", "ping.yaml")

    refused = stage.invoke("play", ping, "--inventory", stage.inventory, "--no-wait", "--json")
    assert refused.code == 2
    assert str(first.pid) in refused.data["error"] and "play.yaml" in refused.data["error"]

    from tests.support.runner import finish, start

    waiting = start("play", ping, "--inventory", stage.inventory, "--json", state=stage.state)
    assert waiting.stderr
    assert "waiting for another run" in waiting.stderr.readline()
    for node in nodes:
        (node.scratch / "go").touch()
    assert finish(first).code == 0
    assert finish(waiting).code == 0
