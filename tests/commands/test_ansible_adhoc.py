"""playrunner-ansible: one step on some hosts, printed as the program `ansible` does."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from playrunner.commands.ansible_programs import adhoc
from tests.support.runner import Stage


@pytest.fixture
def hosts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("PLAYRUNNER_STATE_HOME", str(tmp_path / "state"))
    file = tmp_path / "hosts"
    settings = f"ansible_connection=local ansible_python_interpreter={sys.executable}"
    file.write_text(f"h1 {settings}\nh2 {settings}\ngone ansible_host=127.0.0.1 ansible_port=1\n")
    return str(file)


def run(
    capfd: pytest.CaptureFixture[str], hosts: str, pattern: str, *words: str
) -> tuple[int, str, str]:
    code = adhoc.main([pattern, "-i", hosts, *words])
    printed = capfd.readouterr()
    return code, printed.out, printed.err


def test_a_command_s_output_follows_its_code(hosts: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert run(capfd, hosts, "h1", "-a", "echo hi")[:2] == (0, "h1 | CHANGED | rc=0 >>\nhi\n")
    failed = run(capfd, hosts, "h1", "-m", "shell", "-a", "echo a; echo b >&2; exit 3")
    assert failed[:2] == (2, "h1 | FAILED | rc=3 >>\nabnon-zero return code\n")


def test_other_results_are_json(hosts: str, capfd: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capfd, hosts, "h1", "-m", "ping")
    head, _, body = out.partition(" => ")
    assert (code, head, json.loads(body)) == (
        0,
        "h1 | SUCCESS",
        {"changed": False, "ping": "pong"},
    )


def test_a_line_for_each_host(hosts: str, capfd: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capfd, hosts, "h1:h2", "-o", "-a", r"printf 'a\nb'")
    assert code == 0
    assert sorted(out.splitlines()) == [
        r"h1 | CHANGED | rc=0 | (stdout) a\nb",
        r"h2 | CHANGED | rc=0 | (stdout) a\nb",
    ]


def test_hosts_that_are_not_reached_end_with_4(
    hosts: str, capfd: pytest.CaptureFixture[str]
) -> None:
    code, out, _ = run(capfd, hosts, "gone", "-m", "ping")
    assert code == 4 and out.startswith("gone | UNREACHABLE! => {")


def test_hosts_are_listed(hosts: str, capfd: pytest.CaptureFixture[str]) -> None:
    listed = run(capfd, hosts, "all", "--list-hosts")
    assert listed[:2] == (0, "  hosts (3):\n    h1\n    h2\n    gone\n")


def test_a_pattern_that_names_no_host_is_a_warning(
    hosts: str, capfd: pytest.CaptureFixture[str]
) -> None:
    code, out, err = run(capfd, hosts, "nosuch", "-m", "ping")
    assert (code, out) == (0, "") and "No hosts matched, nothing to do" in err


def test_a_command_needs_arguments(hosts: str, capfd: pytest.CaptureFixture[str]) -> None:
    code, _, err = run(capfd, hosts, "h1")
    assert code == 5 and "No argument passed to command module" in err


def test_a_check_changes_nothing(
    hosts: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    words = ("-m", "copy", "-a", f"content=x dest={tmp_path}/made")
    assert run(capfd, hosts, "h1", "-C", *words)[0] == 0
    assert not (tmp_path / "made").exists()
    code, out, _ = run(capfd, hosts, "h1", "-D", *words)
    assert code == 0 and "+x" in out and (tmp_path / "made").read_text() == "x"


def test_su_gets_the_password_it_asks_for(stage: Stage) -> None:
    """Stands in for su, which asks root for nothing: a prompt on standard error, then a line."""
    program = stage.folder / "su"
    program.write_text(
        '#!/bin/sh\nprintf "Password: " >&2\nread -r word\n'
        '[ "$word" = secret ] || { echo "su: Authentication failure" >&2; exit 1; }\n'
        'while [ "$1" != -c ]; do shift; done\nexec /bin/sh -c "$2"\n'
    )
    program.chmod(0o755)
    play = f"""
- hosts: node1
  gather_facts: false
  become: true
  become_method: su
  become_user: daemon  # not the login, of whom nothing is asked
  vars: {{ansible_become_exe: {program}}}
  tasks: [{{name: who, command: id -un}}]
"""
    done = stage.play(play, PLAYRUNNER_BECOME_PASSWORD="secret")
    assert done.code == 0, done.text
    wrong = stage.play(play, PLAYRUNNER_BECOME_PASSWORD="other")
    assert wrong.code == 2 and "Authentication failure" in wrong.text
