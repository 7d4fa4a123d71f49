"""Files that import or include themselves: told in one line with the circle, never a traceback or a
run without an end."""

from __future__ import annotations

from pathlib import Path

import pytest

from playrunner.errors import BadInput
from playrunner.playbook import load_playbook
from tests.support.runner import Stage, invoke


def write(folder: Path, **files: str) -> Path:
    for name, text in files.items():
        path = folder / (name.replace("__", "/") + ".yaml")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder / "play.yaml"


@pytest.mark.parametrize(
    ("files", "named"),
    [
        ({"play": "- import_playbook: play.yaml\n"}, "play.yaml -> "),
        ({"play": "- import_playbook: ./../here/play.yaml\n"}, "play.yaml -> "),
        (
            {"play": "- import_playbook: b.yaml\n", "b": "- import_playbook: play.yaml\n"},
            "b.yaml -> ",
        ),
        (
            {
                "play": "- hosts: all\n  tasks: [{import_tasks: t.yaml}]\n",
                "t": "- import_tasks: t.yaml\n",
            },
            "t.yaml -> ",
        ),
        (
            {
                "play": "- hosts: all\n  tasks: [{import_tasks: t.yaml}]\n",
                "t": "- import_tasks: ./../here/u.yaml\n",
                "u": "- block: [{import_tasks: t.yaml}]\n",
            },
            "u.yaml -> ",
        ),
        (
            {
                "play": "- hosts: all\n  handlers: [{import_tasks: t.yaml}]\n",
                "t": "- import_tasks: t.yaml\n",
            },
            "t.yaml -> ",
        ),
        (
            {
                "play": "- hosts: all\n  roles: [r]\n",
                "roles__r__tasks__main": "- import_role: {name: r}\n",
            },
            "main.yaml -> ",
        ),
        (
            {
                "play": "- hosts: all\n  roles: [r]\n",
                "roles__r__tasks__main": "- import_tasks: main.yaml\n",
            },
            "main.yaml -> ",
        ),
        (
            {
                "play": "- hosts: all\n  roles: [r]\n",
                "roles__r__meta__main": "dependencies: [s]\n",
                "roles__s__meta__main": "dependencies: [r]\n",
            },
            "r -> s -> r",
        ),
        (
            {
                "play": "- hosts: all\n  roles: [r]\n",
                "roles__r__handlers__main": "- import_tasks: main.yaml\n",
            },
            "main.yaml -> ",
        ),
    ],
)
def test_a_circle_of_imports_is_refused_with_the_files_in_it(
    tmp_path: Path, files: dict[str, str], named: str
) -> None:
    play = write(tmp_path / "here", **files)
    with pytest.raises(BadInput, match="circle") as caught:
        load_playbook(play)
    assert named in caught.value.message and "\n" not in str(caught.value)
    assert caught.value.place is not None and caught.value.place.line


@pytest.mark.parametrize(
    "files",
    [
        {"t": "- include_tasks: t.yaml\n"},
        {"t": "- include_tasks: u.yaml\n", "u": "- block: [{include_tasks: t.yaml}]\n"},
        {"t": "- include_tasks: '{{ name }}'\n  vars: {name: t.yaml}\n"},
        {
            "t": "- include_role: {name: r}\n",
            "roles__r__tasks__main": "- include_role: {name: r}\n",
        },
    ],
)
def test_an_include_without_an_end_fails_the_host_in_one_line(
    tmp_path: Path, files: dict[str, str]
) -> None:
    stage = Stage(tmp_path, tmp_path / "hosts")
    stage.inventory.write_text("node1 ansible_connection=local\n")
    play = write(
        tmp_path,
        play="- hosts: all\n  gather_facts: false\n  tasks: [{include_tasks: t.yaml}]\n",
        **files,
    )
    ran = invoke("play", play, "--inventory", stage.inventory, state=stage.state)
    assert ran.code == 2 and "Traceback" not in ran.text and "defect" not in ran.text
    assert "includes are nested more than" in ran.text


def test_a_file_may_include_itself_until_a_condition_ends_it(tmp_path: Path) -> None:
    stage = Stage(tmp_path, tmp_path / "hosts")
    stage.inventory.write_text("node1 ansible_connection=local\n")
    play = write(
        tmp_path,
        play=(
            "- hosts: all\n  gather_facts: false\n  tasks: [{include_tasks: t.yaml, vars: {n:"
            " 1}}]\n"
        ),
        t=(
            "- set_fact: {count: '{{ count | default(0) | int + 1 }}'}\n- include_tasks: t.yaml\n "
            " when: count | int < 48\n"
        ),
    )
    ran = invoke("play", play, "--inventory", stage.inventory, state=stage.state)
    assert ran.code == 0, ran.text
