"""sudo that refuses, or asks for a password."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.faults import root_only
from tests.support.runner import Stage


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
  become_user: nobody
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


@pytest.mark.parametrize(
    ("prompt", "setting"),
    [("Passwort: ", "[]"), ("密码：", "[]"), ("Geheimwort: ", "[Losung, Geheimwort]")],  # noqa: RUF001
)
def test_su_is_answered_in_its_own_language(
    stage: Stage, tmp_path: Path, prompt: str, setting: str
) -> None:
    program = tmp_path / "asking-su"
    program.write_text(
        f"#!/bin/sh\nprintf '%s' '{prompt}' >&2\nread -r given\n"
        '[ "$given" = sesame-4711 ] || exit 1\nshift 2\nexec /bin/sh -c "$1"\n'
    )
    program.chmod(0o755)
    done = stage.play(f"""
- hosts: node1
  gather_facts: false
  become: true
  become_user: nobody
  become_method: su
  vars:
    ansible_su_exe: {program}
    ansible_su_prompt_l10n: {setting}
    ansible_become_password: sesame-4711
  tasks:
    - {{name: who, command: echo here}}
""")
    assert done.code == 0, done.text
    assert done.result("node1", "who")["values"]["stdout"] == "here"
