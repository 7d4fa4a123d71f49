"""Keywords that want a number, a yes or no, or a name: refused when written wrong, failed when a
template gives it wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from playrunner.errors import BadInput
from playrunner.playbook import load_playbook
from tests.support.runner import Outcome, Stage, invoke

HEAD = "- hosts: all\n  tasks:\n    - ping:\n"
BAD_STEP_WORDS = [
    "timeout: soon",
    "timeout: -1",
    "timeout: .inf",
    "timeout: .nan",
    "timeout: []",
    "timeout: true",
    "timeout: 1e30",
    "async: x",
    "async: 1.5",
    "poll: x",
    "poll: -1",
    "throttle: -1",
    "throttle: x",
    "throttle: {a: 1}",
    "retries: x",
    "retries: -1",
    "delay: x",
    "delay: [1]",
    "port: x",
    "port: 70000",
    "port: 0",
    "become: perhaps",
    "check_mode: perhaps",
    "diff: [1]",
    "run_once: 7",
    "ignore_errors: perhaps",
    "ignore_unreachable: {}",
    "no_log: perhaps",
    "any_errors_fatal: perhaps",
    "delegate_facts: perhaps",
    "keep: perhaps",
    "delegate_to: [a]",
    "remote_user: {a: b}",
    "connection: [ssh]",
    "become_user: [root]",
    "become_method: {}",
    "environment: text",
    "environment: [5]",
    "module_defaults: {copy: 5}",
]
BAD_LOOP_WORDS = [
    "pause: 1d",
    "index_var: 5",
    "index_var: a b",
    "loop_var: 5",
    "loop_var: []",
    "extended: perhaps",
    "break_when: [{}]",
]
BAD_PLAY_WORDS = [
    "serial: x",
    "serial: ²",
    "serial: [1, x]",
    "serial: -1",
    "max_fail_percentage: x",
    "gather_facts: perhaps",
    "max_fail_percentage: [3]",
    "force_handlers: perhaps",
    "any_errors_fatal: perhaps",
    "port: x",
    "become: x",
]


@pytest.mark.parametrize(
    ("head", "indent", "written", "line"),
    [
        *((HEAD, "      ", word, 4) for word in BAD_STEP_WORDS),
        *(
            (HEAD + "      loop: [1]\n      loop_control:\n", "        ", word, 6)
            for word in BAD_LOOP_WORDS
        ),
        *(("- hosts: all\n", "  ", word, 2) for word in BAD_PLAY_WORDS),
        *(
            ("- hosts: all\n  tasks:\n    - block: [{ping: }]\n", "      ", word, 4)
            for word in ("timeout: soon", "throttle: -1")
        ),
    ],
)
def test_a_keyword_of_the_wrong_kind_is_refused_with_its_line(
    tmp_path: Path, head: str, indent: str, written: str, line: int
) -> None:
    file = tmp_path / "play.yaml"
    file.write_text(f"{head}{indent}{written}\n")
    with pytest.raises(BadInput) as caught:
        load_playbook(file)
    assert str(caught.value.place) == f"{file}:{line}" and "\n" not in str(caught.value)
    assert (
        caught.value.message.startswith(written.partition(":")[0])
        or "module_defaults" in caught.value.message
    )


@pytest.mark.parametrize(
    "written",
    [
        "timeout: '{{ x }}'",
        "async: '{{ x }}'",
        "retries: '{{ x }}'",
        "until: false\n      delay: '{{ x }}'",
        "async: 5\n      poll: '{{ x }}'",
        "port: '{{ x }}'",
        "loop: [1]\n      loop_control: {pause: '{{ x }}'}",
    ],
)
def test_a_template_that_gives_the_wrong_kind_fails_the_step_in_one_line(
    tmp_path: Path, written: str
) -> None:
    ran = _with_keyword(tmp_path, written)
    assert "Traceback" not in ran.text and "defect" not in ran.text
    if "port" not in written:  # a local connection has no port
        assert "soon" in ran.text or "-1" in ran.text
    assert ran.code == 0  # ignored, and both hosts go on


@pytest.mark.parametrize(("value", "code"), [("{{ x }}", 5), ("{{ -1 }}", 0)])
def test_a_throttle_that_is_no_number_ends_the_run_and_a_negative_one_limits_nothing(
    tmp_path: Path, value: str, code: int
) -> None:
    """As with Ansible, which lets no step ignore it."""
    ran = _with_keyword(tmp_path, f"throttle: '{value}'")
    assert ran.code == code and "Traceback" not in ran.text and "defect" not in ran.text
    assert ("Failed to convert the throttle value" in ran.text) == bool(code)


def _with_keyword(folder: Path, written: str) -> Outcome:
    """What comes of a play on two hosts whose first step has this keyword, and ignores errors."""
    stage = Stage(folder, folder / "hosts")
    stage.inventory.write_text("node1 ansible_connection=local\nnode2 ansible_connection=local\n")
    play = stage.write(
        "- hosts: all\n  gather_facts: false\n  vars: {x: soon}\n  tasks:\n"
        f"    - name: bad\n      command: 'true'\n      {written}\n      ignore_errors: true\n"
        "    - name: next\n      command: 'true'\n"
    )
    return invoke("play", play, "--inventory", stage.inventory, state=stage.state)


@pytest.mark.parametrize(
    "written", ["serial: '{{ x }}'", "max_fail_percentage: '{{ x }}'", "gather_facts: '{{ x }}'"]
)
def test_a_template_that_gives_a_play_the_wrong_kind_ends_it_in_one_line(
    tmp_path: Path, written: str
) -> None:
    stage = Stage(tmp_path, tmp_path / "hosts")
    stage.inventory.write_text("node1 ansible_connection=local\n")
    play = stage.write(f"- hosts: all\n  {written}\n  tasks: [{{command: 'true'}}]\n")
    ran = invoke(
        "play", play, "--inventory", stage.inventory, "--extra-vars", "x=soon", state=stage.state
    )
    assert (
        ran.code == 2
        and "Traceback" not in ran.text
        and "defect" not in ran.text
        and "soon" in ran.text
    )
