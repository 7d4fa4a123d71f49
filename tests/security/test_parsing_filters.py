"""Filters and lookups that parse what a host or file said: a failed step in one line, never the end
of the process."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.runner import Stage, invoke

DEEP = "python3 -c \"print('[' * 200000)\""
BOMB = (
    "printf 'a0: &a0 [x,x,x,x,x,x,x,x,x,x]\\n'; for n in 1 2 3 4 5 6 7 8 9; do p=$((n-1));"
    ' printf "a$n: &a$n [*a$p,*a$p,*a$p,*a$p,*a$p,*a$p,*a$p,*a$p,*a$p,*a$p]\\n"; done'
)


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    found = Stage(tmp_path, tmp_path / "hosts")
    found.inventory.write_text("node1 ansible_connection=local\n")
    return found


@pytest.mark.parametrize(
    ("command", "expression", "words"),
    [
        (DEEP, "r.stdout | from_yaml", "nested more than 100 deep"),
        (DEEP, "r.stdout | from_yaml_all", "nested more than 100 deep"),
        (DEEP, "r.stdout | from_json", "nested more than 100 deep"),
        (BOMB, "r.stdout | from_yaml", "aliases repeat more than"),
        ("printf '{\"a\": 1\\n'", "r.stdout | from_json", "not valid JSON"),
        ("printf 'a: !!bool maybe'", "r.stdout | from_yaml", "cannot be read as !!bool"),
        ("printf 'a: !!timestamp x'", "r.stdout | from_yaml_all", "cannot be read as !!timestamp"),
        ("printf '9%.0s' $(seq 5000)", "r.stdout | from_json", "too many digits"),
        ("true", "5 | from_json", "takes JSON text"),
    ],
)
def test_text_that_cannot_be_parsed_fails_the_step_in_one_line(
    stage: Stage, command: str, expression: str, words: str
) -> None:
    command_text = command.replace("'", "''")
    play = stage.write(
        f"- hosts: all\n  gather_facts: false\n  tasks:\n    - shell: '{command_text}'\n     "
        f" register: r\n    - debug: {{msg: '{{{{ {expression} }}}}'}}\n"
    )
    ran = invoke("play", play, "--inventory", stage.inventory, state=stage.state)
    assert (
        ran.code == 2
        and words in ran.text
        and "Traceback" not in ran.text
        and "defect" not in ran.text
    )


@pytest.mark.parametrize(
    ("content", "lookup", "words"),
    [
        (b"no section", "lookup('ini', 'a', file='f.ini')", "not an INI file"),
        (b"[global]\na=\x01\n", "lookup('ini', 'a', file='f.ini')", "control character"),
        (b"\xff\xfe", "lookup('ini', 'a', file='f.ini')", "not UTF-8"),
        (b"[global]\na=1", "lookup('ini', 'a', file='f.ini', encoding='no-such')", "no encoding"),
        (b"\xff\xfe", "lookup('file', 'f.ini')", "not UTF-8"),
        (b"", "lookup('file', 'x' * 5000)", "there is no file"),
    ],
)
def test_a_file_that_cannot_be_parsed_fails_the_step_in_one_line(
    stage: Stage, content: bytes, lookup: str, words: str
) -> None:
    (stage.folder / "f.ini").write_bytes(content)
    play = stage.write(
        f'- hosts: all\n  gather_facts: false\n  tasks:\n    - debug: {{msg: "{{{{ {lookup}'
        ' }}"}\n'
    )
    ran = invoke("play", play, "--inventory", stage.inventory, state=stage.state)
    assert (
        ran.code == 2
        and words in ran.text
        and "Traceback" not in ran.text
        and "defect" not in ran.text
    )
