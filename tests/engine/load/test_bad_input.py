"""Bad playbooks: found when they are loaded, told with file, line and remedy, never with a
traceback."""

from __future__ import annotations

import datetime
from pathlib import Path

import pytest
import yaml
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from playrunner.errors import BadInput
from playrunner.playbook import load_playbook

HEAD = "- hosts: all\n  tasks:\n"


@pytest.mark.parametrize(
    ("playbook", "line", "words"),
    [
        ("hosts: all\n", 1, "list of plays"),
        ("- tasks: []\n", 1, 'no "hosts"'),
        ("- hosts: all\n  tasky: []\n", 2, 'did you mean "tasks"?'),
        ("- hosts: all\n  tasks: {a: 1}\n", 2, "should be a list or None; each task starts with"),
        ("- hosts: all\n  vars: {none: 1}\n", 2, '"none" cannot be a variable name'),
        (HEAD + "    - {ping: , vars: {'not': 1}}\n", 3, '"not" cannot be a variable name'),
        (HEAD + "    - name: x\n", 3, "names no module"),
        (HEAD + "    - coppy: {src: a, dest: b}\n", 3, 'did you mean "copy"?'),
        (HEAD + "    - copy: {src: a, dest: b}\n      whn: x\n", 4, 'did you mean "when"?'),
        (
            HEAD
            + "    - name: data\n      mount:\n        path: /x\n        sorce: y\n        state:"
            " mounted\n",
            6,
            'has no argument "sorce"; did you mean "src"?',
        ),
        (HEAD + "    - file: {state: directory}\n", 3, 'needs the argument "path"'),
        (HEAD + "    - file: {path: /x, state: folder}\n", 3, "cannot be 'folder'"),
        (HEAD + "    - file: {path: /x}\n      copy: {src: a, dest: b}\n", 4, "names one module"),
        (HEAD + "    - debug: {msg: '{{ a | no_such_filter }}'}\n", 3, "no_such_filter"),
        (HEAD + "    - debug: {msg: '{{ a '}\n", 3, "{{ a"),
        (HEAD + "    - ping:\n      when: a ==\n", 4, "when"),
        (HEAD + "    - ping:\n      loop: [1]\n      with_items: [2]\n", 5, "one loop"),
        (HEAD + "    - ping:\n      with_nothing: [2]\n", 4, 'no loop "with_nothing"'),
        (HEAD + "    - ping:\n      loop_control: {label: x}\n", 4, "loop_control"),
        (HEAD + "    - ping:\n      register: 2x\n", 4, "Invalid variable name in 'register'"),
        (HEAD + "    - include_tasks: nowhere.yaml\n", 3, ""),
        (HEAD + "    - import_tasks: nowhere.yaml\n", 3, 'no task file "nowhere.yaml"'),
        (HEAD + "    - debug: {msg: x}\n      debugger: always\n", 4, "not supported"),
        (HEAD + "    - rescue: []\n", 3, '"rescue"'),
        (
            HEAD + "    - ping:\n      module_defaults: {group/no.such.group: {x: 1}}\n",
            4,
            "could not resolve the module_defaults group no.such.group",
        ),
        ("- hosts: all\n  gather_timeout: 3\n", 2, "facts are gathered without"),
        (HEAD + "    - include_vars: {file: x, hash_behaviour: mix}\n", 3, "cannot be 'mix'"),
        (HEAD + "    - meta: end_everything\n", 3, "cannot be 'end_everything'"),
        (HEAD + "    - meta: end_role\n", 3, "Cannot execute 'end_role' from outside of a role"),
        ("- hosts: all\n  handlers: [{meta: end_role}]\n", 2, "'end_role' from a handler"),
        (
            HEAD + "    - include_tasks: x.yaml\n      become: true\n",
            4,
            "'become' is not a valid attribute for a TaskInclude; name it under \"apply\"",
        ),
        (
            HEAD + "    - include_role: {name: x}\n      until: done\n",
            4,
            "'until' is not a valid attribute for a IncludeRole",
        ),
        (
            "- hosts: all\n  handlers:\n    - include_tasks: x.yaml\n      delegate_to: y\n",
            4,
            "'delegate_to' is not a valid attribute for a HandlerTaskInclude",
        ),
        ("- hosts: all\n  roles: [nope]\n", 2, 'no role "nope"'),
        ("- hosts: all\n  strategy: fastest\n", 2, "strategy"),
        ("- hosts: all\n  serial: many\n", 2, "serial"),
        ("- hosts: all\n  vars: [1]\n", 2, "mapping"),
        ("- hosts: all\n  vars: {my-name: 1}\n", 2, "variable name"),
        ("- import_playbook: nowhere.yaml\n", 1, "no playbook"),
        (HEAD + "    - command: {cmd: x, creates: [1, 2]}\n      args: nonsense\n", 4, "args"),
    ],
)
def test_a_bad_playbook_is_refused_with_file_line_and_remedy(
    tmp_path: Path, playbook: str, line: int, words: str
) -> None:
    file = tmp_path / "play.yaml"
    file.write_text(playbook)
    if not words:
        load_playbook(file)  # an include is looked for when it runs
        return
    with pytest.raises(BadInput) as caught:
        load_playbook(file)
    assert words in caught.value.message
    assert str(caught.value.place) == f"{file}:{line}"


WORDS = st.sampled_from(
    [
        "hosts",
        "tasks",
        "name",
        "vars",
        "roles",
        "handlers",
        "block",
        "rescue",
        "always",
        "when",
        "loop",
        "with_items",
        "loop_control",
        "register",
        "until",
        "notify",
        "tags",
        "become",
        "environment",
        "command",
        "copy",
        "template",
        "file",
        "debug",
        "set_fact",
        "include_tasks",
        "import_tasks",
        "import_role",
        "include_role",
        "meta",
        "import_playbook",
        "serial",
        "vars_files",
        "module_defaults",
        "args",
        "action",
        "delegate_to",
        "async",
        "src",
        "dest",
        "path",
        "state",
    ]
)
SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-5, 5),
    st.floats(allow_nan=True),
    st.dates(),
    WORDS,
    st.text(max_size=8),
    st.sampled_from(["{{ x }}", "{{", "{% if %}", "a=b", "a=b c", "{{ x | bool }}", "=", '"', "'"]),
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.dictionaries(st.one_of(WORDS, st.text(max_size=4), st.integers()), inner, max_size=4),
    ),
    max_leaves=20,
)
TASKS = st.lists(st.dictionaries(WORDS, VALUES, min_size=1, max_size=4), max_size=4)
PLAYS = st.lists(
    st.fixed_dictionaries(
        {"hosts": SCALARS},
        optional={
            "tasks": st.one_of(TASKS, VALUES),
            "handlers": TASKS,
            "roles": VALUES,
            "vars": VALUES,
            "serial": VALUES,
            "pre_tasks": TASKS,
            "gather_facts": VALUES,
            "tags": VALUES,
            "when": VALUES,
            "environment": VALUES,
        },
    ),
    max_size=3,
)


@settings(
    max_examples=300,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
@given(value=st.one_of(PLAYS, VALUES))
@example(value=[{"hosts": "all", "tasks": [{"command": [datetime.date(2000, 1, 1)]}]}])
def test_no_structure_gives_a_traceback(tmp_path: Path, value: object) -> None:
    file = tmp_path / "play.yaml"
    file.write_text(yaml.safe_dump(value))
    loads_or_tells(file)


@settings(
    max_examples=200,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
@given(st.data())
def test_no_mutation_of_a_good_playbook_gives_a_traceback(
    tmp_path: Path, data: st.DataObject
) -> None:
    text = (Path(__file__).parents[3] / "playbooks" / "hello-nodes.yaml").read_text()
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(text)))
        width = data.draw(st.integers(0, 12))
        text = (
            text[:at]
            + data.draw(
                st.one_of(st.text(max_size=6), st.sampled_from(["{{", "}}", "- ", ":", "\n", "\t"]))
            )
            + text[at + width :]
        )
    file = tmp_path / "play.yaml"
    file.write_text(text, encoding="utf-8", errors="surrogatepass")
    loads_or_tells(file)


def loads_or_tells(file: Path) -> None:
    try:
        load_playbook(file)
    except BadInput as error:
        assert error.place is not None and error.place.file, f"no file in: {error}"
        assert error.message
