"""A real su and a real sudo that ask for a password, answered rightly and wrongly."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ACCOUNT, PASSWORD = "playrunnersu", "right-4711"
PLAY = """
- hosts: localhost
  gather_facts: false
  vars:
    ansible_connection: local
    ansible_python_interpreter: /usr/bin/python3
    ansible_become: true
    ansible_become_method: su
    ansible_become_exe: sudo -n -u nobody su
    ansible_become_user: playrunnersu
    ansible_become_password: "{{ lookup('env', 'SU_PASSWORD') }}"
  tasks:
    - {raw: id -un, register: by_raw}
    - {command: id -un, register: by_agent}
    - assert:
        that:
          - by_raw.stdout_lines[-1] == 'playrunnersu'
          - by_agent.stdout == 'playrunnersu'
    - {raw: exit 99, register: wrong, ignore_errors: true, vars: {ansible_become_password: guess}}
    - assert: {that: ["wrong.msg == 'Incorrect su password'"]}
    - raw: exit 99
      register: sudo
      ignore_errors: true
      vars:
        ansible_become_method: sudo
        ansible_become_exe: sudo -n -u nobody sudo -k
        ansible_become_flags: -H -S -n
        ansible_become_password: guess
    - assert: {that: ["sudo.msg == 'Incorrect sudo password'"]}
"""


@pytest.fixture
def account() -> Iterator[None]:
    programs = ("useradd", "chpasswd", "su", "sudo")
    if os.geteuid() or not all(map(shutil.which, programs)):
        pytest.skip("needs root, useradd, su and sudo")
    subprocess.run(["useradd", "-M", "-s", "/bin/sh", ACCOUNT], check=True)
    try:
        line = f"{ACCOUNT}:{PASSWORD}\n"
        subprocess.run(["chpasswd"], input=line, text=True, check=True)
        yield
    finally:
        subprocess.run(["userdel", ACCOUNT], check=True)


@pytest.mark.usefixtures("account")
def test_su_is_answered_and_a_wrong_password_is_named(tmp_path: Path) -> None:
    playbook = tmp_path / "play.yaml"
    playbook.write_text(PLAY)
    done = subprocess.run(
        [sys.executable, "-m", "playrunner", "play", str(playbook)],
        env={**os.environ, "SU_PASSWORD": PASSWORD, "XDG_STATE_HOME": str(tmp_path / "state")},
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert PASSWORD not in done.stdout + done.stderr
