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
