"""What breaks in real life: hosts that die, keys that change, disks that fill, people who press
Ctrl-C."""

from __future__ import annotations

import subprocess
from pathlib import Path

from tests.support.faults import cut_sessions, own  # noqa: F401
from tests.support.runner import Stage
from tests.support.sshd import NodeSet
from tests.support.until import until


def test_a_host_that_is_down_does_not_stop_the_others(own: tuple[NodeSet, Stage]) -> None:
    nodes, stage = own
    nodes.kill("node2")

    outcome = stage.play("""
- hosts: nodes
  gather_facts: false
  tasks:
    - {name: mark, copy: {content: here, dest: "{{ scratch }}/mark"}}
    - {name: after, ping: }
""")

    assert outcome.code == 4
    assert outcome.counts("node1")["ok"] == 2
    assert outcome.counts("node2") == {
        **dict.fromkeys(outcome.counts("node2"), 0),
        "unreachable": 1,
    }
    assert "connection refused" in outcome.result("node2", "mark")["values"]["msg"]


def test_a_host_killed_in_the_middle_of_a_step_is_unreachable_and_the_others_finish(
    own: tuple[NodeSet, Stage],
) -> None:
    nodes, stage = own
    running = stage.start("""
- hosts: nodes
  gather_facts: false
  tasks:
    - {name: quick, copy: {content: here, dest: "{{ scratch }}/mark"}}
    - {name: slow, wait_for: {path: "{{ scratch }}/go", timeout: 30}}
    - {name: last, ping: }
""")
    until(
        lambda: all((node.scratch / "mark").exists() for node in nodes),
        what="the first step on both hosts",
    )
    nodes.kill("node2")
    (nodes["node1"].scratch / "go").touch()

    out, err = running.communicate(timeout=60)

    assert running.returncode == 4, out + err
    assert '"node1": {"ok": 3' in out.replace("\n", "")
    assert '"unreachable": 1' in out


def test_a_dropped_connection_is_opened_again_and_a_step_that_may_be_repeated_is(
    own: tuple[NodeSet, Stage],
) -> None:
    nodes, stage = own
    node = nodes["node1"]
    running = stage.start("""
- hosts: node1
  gather_facts: false
  tasks:
    - {name: mark, copy: {content: here, dest: "{{ scratch }}/mark"}}
    - {name: wait, wait_for: {path: "{{ scratch }}/go", timeout: 30}}
    - {name: after, copy: {content: after, dest: "{{ scratch }}/after"}}
""")
    until((node.scratch / "mark").exists, what="the first step")
    cut_sessions(nodes, "node1")
    (node.scratch / "go").touch()

    out, err = running.communicate(timeout=60)

    assert running.returncode == 0, out + err
    assert (node.scratch / "after").read_text() == "after"


def test_a_command_that_may_have_run_is_reported_not_repeated(own: tuple[NodeSet, Stage]) -> None:
    nodes, stage = own
    node = nodes["node1"]
    running = stage.start("""
- hosts: node1
  gather_facts: false
  tasks:
    - {name: once, shell: "echo ran >> {{ scratch }}/log; sleep 60"}
    - {name: after, copy: {content: after, dest: "{{ scratch }}/after"}}
""")
    until((node.scratch / "log").exists, what="the command's first effect")
    cut_sessions(nodes, "node1")

    out, err = running.communicate(timeout=60)

    assert running.returncode == 2, out + err
    assert "may have been running" in out
    assert (node.scratch / "log").read_text() == "ran\n"
    assert not (node.scratch / "after").exists()


def test_a_wrong_login_key_names_the_host_and_what_was_tried(
    stage: Stage, nodes: NodeSet, tmp_path: Path
) -> None:
    other = tmp_path / "other"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(other)], check=True)
    stage.inventory = nodes.inventory(tmp_path, ansible_ssh_private_key_file=str(other))

    outcome = stage.play("- hosts: node1\n  tasks: [{ping: }]\n", SSH_AUTH_SOCK="")

    assert outcome.code == 4
    assert "login as" in outcome.err and "refused" in outcome.err and str(other) in outcome.err


def test_a_changed_host_key_stops_the_host_and_says_so(
    stage: Stage, nodes: NodeSet, tmp_path: Path
) -> None:
    node = nodes["node1"]
    other = tmp_path / "other"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(other)], check=True)
    kind, text = (tmp_path / "other.pub").read_text().split()[:2]
    known = tmp_path / "known_hosts"
    known.write_text(f"[{node.address}]:{node.port} {kind} {text}\n")
    stage.inventory = nodes.inventory(
        tmp_path, ansible_ssh_common_args=f"-o UserKnownHostsFile={known}"
    )

    outcome = stage.play("- hosts: node1\n  tasks: [{ping: }]\n")

    assert outcome.code == 4
    assert "host key has CHANGED" in outcome.err and "ssh-keygen" in outcome.err


def test_an_unknown_host_key_is_refused_until_it_is_trusted(
    stage: Stage, nodes: NodeSet, tmp_path: Path
) -> None:
    known = tmp_path / "known_hosts"
    stage.inventory = nodes.inventory(
        tmp_path, ansible_ssh_common_args=f"-o UserKnownHostsFile={known}"
    )
    playbook = "- hosts: node1\n  gather_facts: false\n  tasks: [{ping: }]\n"

    refused = stage.play(playbook)
    assert refused.code == 4
    assert "SHA256:" in refused.err and "invoke hosts.trust node1" in refused.err

    unattended = stage.invoke("hosts.trust", "node1", "--inventory", stage.inventory)
    assert unattended.code == 5 and not known.exists()
    trusted = stage.invoke(
        "hosts.trust", "node1", "--inventory", stage.inventory, "--yes", "--json"
    )
    assert trusted.code == 0 and trusted.data["changed"] is True
    assert (
        stage.invoke("hosts.trust", "node1", "--inventory", stage.inventory, "--json").data[
            "changed"
        ]
        is False
    )

    assert stage.play(playbook).code == 0


def test_a_host_without_python_gets_a_clear_error_and_raw_still_works(
    stage: Stage, nodes: NodeSet, tmp_path: Path
) -> None:
    stage.inventory = nodes.inventory(tmp_path, ansible_python_interpreter="/nowhere/python3")

    outcome = stage.play("""
- hosts: node1
  gather_facts: false
  tasks:
    - {name: bare, raw: echo still here, register: bare}
    - {name: needs python, ping: }
""")

    assert outcome.code == 2
    assert outcome.result("node1", "bare")["values"]["stdout"].strip() == "still here"
    failed = outcome.result("node1", "needs python")["values"]
    assert failed["msg"] == "The module interpreter '/nowhere/python3' was not found."
    assert "has no /nowhere/python3; install it" in failed["warnings"][0]
