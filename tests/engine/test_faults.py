"""What breaks in real life: hosts that die, keys that change, disks that fill, people who press
Ctrl-C."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from playrunner.sandbox import nodes as sandbox_nodes
from tests.support.runner import Stage
from tests.support.sshd import NodeSet
from tests.support.until import until

Nodes = Callable[[int], NodeSet]
root_only = pytest.mark.skipif(os.geteuid() != 0, reason="needs root")


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


def cut_sessions(nodes: NodeSet, name: str) -> None:
    """End the server's processes for everyone who is logged in to a node; the server itself goes
    on."""
    listener = next(node.pid for node in sandbox_nodes.status(nodes.root) if node.name == name)
    listed = subprocess.run(
        ["ps", "-eo", "pid,ppid"], capture_output=True, text=True, check=True
    ).stdout
    cut = [
        int(line.split()[0]) for line in listed.splitlines()[1:] if int(line.split()[1]) == listener
    ]
    assert cut, "nobody is logged in"
    for pid in cut:
        with suppress(ProcessLookupError):  # one that was just ending
            os.kill(pid, signal.SIGKILL)


@pytest.fixture
def own(tmp_path: Path, make_nodes: Nodes) -> tuple[NodeSet, Stage]:
    nodes = make_nodes(2)
    return nodes, Stage(tmp_path, nodes.inventory(tmp_path))


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
    assert "has no /nowhere/python3" in outcome.result("node1", "needs python")["values"]["msg"]


@root_only
def test_a_refused_sudo_is_a_failed_step_with_sudos_own_words(stage: Stage) -> None:
    outcome = stage.play("""
- hosts: node1
  gather_facts: false
  tasks:
    - {name: as nobody known, command: id, become: true, become_user: no-such-user-here}
""")
    assert outcome.code == 2
    message = outcome.result("node1", "as nobody known")["values"]["msg"]
    assert "sudo to no-such-user-here was refused" in message and "unknown user" in message


@root_only
def test_a_refused_sudo_that_is_ignored_does_not_fail_the_steps_after_it(stage: Stage) -> None:
    outcome = stage.play("""
- hosts: node1
  gather_facts: false
  tasks:
    - {name: before, ping: }
    - name: refused
      command: id
      become: true
      become_user: no-such-user-here
      ignore_errors: true
    - {name: plain, command: echo fine}
    - name: refused again
      command: id
      become: true
      become_user: no-such-user-here
      ignore_errors: true
    - {name: last, ping: }
""")
    assert outcome.code == 0, outcome.text
    assert outcome.counts("node1")["ok"] == 5 and outcome.counts("node1")["ignored"] == 2
    assert "was refused" in outcome.result("node1", "refused again")["values"]["msg"]


def asking_sudo(folder: Path, password: str) -> Path:
    """A program that asks for a password as sudo -S does, then runs its command."""
    program = folder / "asking-sudo"
    program.write_text(f"""#!/bin/sh
while [ "$1" != /bin/sh ]; do [ "$1" = -p ] && prompt=$2; shift; done
[ -n "$prompt" ] || {{ echo "a password is required" >&2; exit 1; }}
printf %s "$prompt" >&2
read -r answer
[ "$answer" = "{password}" ] || {{ echo "Sorry, try again." >&2; exit 1; }}
exec "$@"
""")
    program.chmod(0o755)
    return program


def test_a_sudo_password_comes_from_the_environment_and_is_written_nowhere(
    stage: Stage, tmp_path: Path
) -> None:
    program = asking_sudo(tmp_path, "sesame-4711")
    playbook = f"""
- hosts: nodes
  gather_facts: false
  become: true
  vars: {{ansible_become_exe: {program}}}
  tasks:
    - {{name: who, command: id -un}}
"""
    right = stage.play(playbook, PLAYRUNNER_BECOME_PASSWORD="sesame-4711")
    assert right.code == 0, right.text
    wrong = stage.play(playbook, PLAYRUNNER_BECOME_PASSWORD="guess-0815")
    assert wrong.code == 2 and "Sorry, try again" in wrong.err
    none = stage.play(playbook)
    assert none.code == 2 and "PLAYRUNNER_BECOME_PASSWORD" in none.err

    written = "".join(
        file.read_text()
        for file in stage.state.rglob("*")
        if file.is_file() and not file.is_symlink()
    )
    assert "sesame-4711" not in written + right.text and "guess-0815" not in written + wrong.text


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
