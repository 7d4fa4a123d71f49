"""Becoming someone else on the host, and hosts that go away and come back."""

from __future__ import annotations

import os

import pytest

from tests.support.runner import Stage

root_only = pytest.mark.skipif(os.geteuid() != 0, reason="needs root")


@root_only
@pytest.mark.parametrize(("method", "flags"), [("sudo", ""), ("su", "-s /bin/sh")])
def test_a_step_runs_as_who_it_becomes_and_the_next_as_the_login_again(
    stage: Stage, method: str, flags: str
) -> None:
    done = stage.play(f"""
- hosts: nodes
  gather_facts: false
  tasks:
    - name: other
      command: id -un
      become: true
      become_user: nobody
      become_method: {method}
      become_flags: "{flags}"
    - {{name: own, command: id -un}}
""")
    assert done.code == 0, done.text
    assert done.result("node1", "other")["values"]["stdout"] == "nobody"
    assert done.result("node1", "own")["values"]["stdout"] == "root"


@root_only
@pytest.mark.parametrize(
    ("method", "calls"), [("doas", "doas -n -u nobody"), ("sudo", "sudo -H -n -u nobody")]
)
def test_the_program_of_a_become_method_can_be_another(
    stage: Stage, method: str, calls: str
) -> None:
    """Stands in for doas, which this machine may lack: it takes the same words."""
    program, log = stage.folder / "become", stage.folder / "log"
    program.write_text(
        f'#!/bin/sh\necho "$*" > {log}\nwhile [ "$1" != -u ]; do shift; done\n'
        'user=$2; shift 2; exec setpriv --reuid "$user" --clear-groups "$@"\n'
    )
    program.chmod(0o755)
    done = stage.play(f"""
- hosts: node1
  gather_facts: false
  become: true
  become_user: nobody
  become_method: community.general.{method}
  vars: {{ansible_{method}_exe: {program}, ansible_become_exe: /not/used}}
  tasks: [{{name: who, command: id -un}}]
""")
    assert done.code == 0, done.text
    assert done.result("node1", "who")["values"]["stdout"] == "nobody"
    assert log.read_text().startswith(calls.partition(" ")[2])


def test_runas_is_refused_by_its_name(stage: Stage) -> None:
    done = stage.play("""
- hosts: node1
  gather_facts: false
  tasks: [{name: who, command: id -un, become: true, become_method: runas}]
""")
    assert done.code == 2
    message = done.result("node1", "who")["values"]["msg"]
    assert 'become_method cannot be "runas"; it is sudo, su, doas; runas is for Windows' in message


def test_a_reboot_is_over_when_the_host_answers_with_another_boot_id(stage: Stage) -> None:
    done = stage.play("""
- hosts: node1
  gather_facts: false
  tasks:
    - {copy: {content: first, dest: "{{ home }}/boot"}}
    - name: restart
      reboot:
        boot_time_command: "cat {{ home }}/boot"
        reboot_command: "echo second > {{ home }}/boot"
        reboot_timeout: 30
    - {name: back, command: "cat {{ home }}/boot"}
""")
    assert done.code == 0, done.text
    assert done.result("node1", "restart")["values"]["rebooted"] is True
    assert done.result("node1", "back")["values"]["stdout"] == "second"


def test_a_reboot_only_asked_for_is_told_as_done(stage: Stage) -> None:
    done = stage.play("""
- hosts: node1
  gather_facts: false
  tasks:
    - {name: restart, reboot: {reboot_command: "false"}, check_mode: true, register: asked}
    - {name: told, debug: {msg: "{{ asked.rebooted }} {{ asked.elapsed }} {{ asked is changed }}"}}
""")
    assert done.code == 0, done.text
    assert done.result("node1", "told")["values"]["msg"] == "True 0 True"


def test_a_host_that_never_restarts_is_a_failed_reboot(stage: Stage) -> None:
    done = stage.play("""
- hosts: node1
  gather_facts: false
  tasks:
    - name: restart
      reboot: {boot_time_command: echo same, reboot_command: "true", reboot_timeout: 1}
""")
    assert done.code == 2
    assert "not back within 1 seconds" in done.result("node1", "restart")["values"]["msg"]
