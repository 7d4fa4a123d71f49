"""`pause` with a person at a terminal: Enter, Ctrl-C, typed answers; and without one."""

from __future__ import annotations

import os
import pty
import select
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

PLAY = """\
- hosts: localhost
  gather_facts: false
  tasks:
    - name: waits
      pause: %s
      register: paused
    - debug: { msg: "typed {{ paused.user_input }}." }
"""


class Person:
    """A run in a terminal of its own, and what was read of it so far."""

    def __init__(self, folder: Path, arguments: str) -> None:
        (folder / "play.yml").write_text(PLAY % arguments)
        self.screen = ""
        self.pid, self.terminal = pty.fork()
        if not self.pid:
            os.chdir(folder)
            os.environ["TERM"] = "xterm"
            program = "playrunner.commands.ansible_programs.playbook"
            os.execv(sys.executable, [sys.executable, "-P", "-m", program, "play.yml"])

    def sees(self, text: str, seconds: float = 60) -> None:
        ends = time.monotonic() + seconds
        while text not in self.screen:
            left = ends - time.monotonic()
            assert left > 0 and select.select([self.terminal], [], [], left)[0], self.screen
            try:
                self.screen += os.read(self.terminal, 4096).decode(errors="replace")
            except OSError:  # the run has ended
                break
        assert text in self.screen, self.screen

    def types(self, text: str) -> None:
        os.write(self.terminal, text.encode())

    def exit_code(self) -> int:
        self.sees("PLAY RECAP")
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])


@pytest.fixture
def person(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Person]:
    made = Person(tmp_path, request.param)
    yield made
    os.close(made.terminal)


@pytest.mark.parametrize("person", ["{ prompt: Your name }"], indirect=True)
def test_an_answer_can_be_edited_and_no_status_is_drawn_over_the_question(person: Person) -> None:
    person.sees("[waits]\r\nYour name:")
    person.types("Bon\x7fb\r")
    assert person.exit_code() == 0
    assert "typed Bob." in person.screen
    assert "localhost: waits (" not in person.screen.partition("Your name:")[2]


@pytest.mark.parametrize("person", ["{ prompt: Secret, echo: false }"], indirect=True)
def test_what_is_hidden_is_not_echoed(person: Person) -> None:
    person.sees("Secret (output is hidden):")
    person.types("pancakes\r")
    assert person.exit_code() == 0
    assert person.screen.count("pancakes") == 1  # the debug step's own


@pytest.mark.parametrize("person", ["{ seconds: 600 }"], indirect=True)
def test_ctrl_c_and_c_end_a_long_pause_early(person: Person) -> None:
    person.sees("Pausing for 600 seconds")
    person.sees("(ctrl+C then 'C' = continue early, ctrl+C then 'A' = abort)")
    person.types("\r\x03")
    person.sees("Press 'C' to continue the play or 'A' to abort")
    person.types("C")
    assert person.exit_code() == 0


@pytest.mark.parametrize("person", ["{ prompt: Go on }"], indirect=True)
def test_ctrl_c_and_a_end_the_run(person: Person) -> None:
    person.sees("Go on:")
    person.types("\x03")
    person.sees("Press 'C' to continue the play or 'A' to abort")
    person.types("A")
    assert person.exit_code() == 2
    assert "user requested abort!" in person.screen


@pytest.mark.parametrize("person", ["{ prompt: Go on }"], indirect=True)
def test_a_terminal_that_goes_away_ends_the_run(person: Person) -> None:
    person.sees("Go on:")
    person.types("\x03")
    person.sees("Press 'C' to continue the play or 'A' to abort")
    os.close(person.terminal)
    person.terminal = os.open(os.devnull, os.O_RDWR)
    assert os.waitpid(person.pid, 0)[1] != 0


def test_without_a_terminal_no_answer_is_waited_for(tmp_path: Path) -> None:
    (tmp_path / "play.yml").write_text(PLAY % "{ prompt: Go on }")
    program = [sys.executable, "-P", "-m", "playrunner.commands.ansible_programs.playbook"]
    done = subprocess.run(
        [*program, "play.yml"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        stdin=subprocess.DEVNULL,
    )
    assert done.returncode == 0
    assert "Not waiting for response to prompt as stdin is not interactive" in done.stderr
