"""no_log: nothing of a hidden step is told, on whatever way it could leave: screen, stderr, JSON,
diff, record, errors."""

from __future__ import annotations

import pytest

from tests.support.runner import Outcome, Stage

SECRET = "squeamish-ossifrage"
HIDDEN = "hidden because no_log is set"
ITEMS = "[{name: bob, password: '{{ word }}'}]"

# Steps that repeat the secret, each on another way out.
LEAKS = {
    "an item": f"{{command: 'echo {{{{ item.password }}}}', loop: {ITEMS}}}",
    "an item of a mapping": "{command: 'true', with_dict: {bob: '{{ word }}'}}",
    "a label": (
        f"{{command: 'true', loop: {ITEMS}, loop_control: {{label: '{{{{ item.password }}}}'}}}}"
    ),
    "a failed item": (
        f"{{shell: 'echo {{{{ item.password }}}} >&2; exit 3', loop: {ITEMS}, ignore_errors: true}}"
    ),
    "a skipped item": f"{{command: 'true', loop: {ITEMS}, when: item.password == 'x'}}",
    "a condition": "{command: 'true', when: 'word == \"x\"'}",
    "an item done on the controller": (
        f"{{debug: {{msg: '{{{{ item.password }}}}'}}, loop: {ITEMS}}}"
    ),
    "an item that is waited for": f"{{wait_for: {{path: /, timeout: 5}}, loop: {ITEMS}}}",
    "an assertion": (
        "{assert: {that: \"'{{ word }}' == 'x'\", fail_msg: '{{ word }}'}, ignore_errors: true}"
    ),
    "a failure": "{fail: {msg: '{{ word }}'}, ignore_errors: true}",
    "a diff": "{copy: {content: '{{ word }}', dest: '{{ home }}/file'}}",
    "a title": "{name: 'for {{ word }}', command: 'true'}",
    "an attempt": (
        "{name: 'try {{ word }}', command: 'echo {{ word }}', register: r, until: r.stdout == 'x',"
        " retries: 1, delay: 0, ignore_errors: true}"
    ),
    "a host of its own": (
        f"{{command: 'echo {{{{ item.password }}}}', delegate_to: localhost, loop: {ITEMS}}}"
    ),
    "one host for all": (
        f"{{command: 'echo {{{{ item.password }}}}', run_once: true, loop: {ITEMS}}}"
    ),
    "a job in the background": "{command: 'echo {{ word }}', async: 20, poll: 1}",
    "a fact": "{set_fact: {kept: '{{ word }}'}}",
    "an undefined name": "{debug: {msg: '{{ {}[word] }}'}, ignore_errors: true}",
    "an argument of the wrong type": (
        "{file: {path: /tmp, mode: '{{ word }}'}, ignore_errors: true}"
    ),
    "a loop over no list": "{command: 'true', loop: '{{ word }}', ignore_errors: true}",
    "a warning": "{command: 'true', changed_when: '{{ word }}', ignore_errors: true}",
    "an included file of an item": f"{{include_tasks: inner.yaml, loop: {ITEMS}}}",
}
# Steps whose rendering itself goes wrong, outside of what a step's result can hold.
BREAKS = {
    "a label that cannot be rendered": (
        f"{{command: 'true', loop: {ITEMS}, loop_control: {{label: '{{{{ {{}}[item.password]"
        " }}'}}"
    ),
    "an included file": "{include_tasks: '{{ word }}.yaml', ignore_errors: true}",
    "a pause that is no number": (
        "{command: 'true', loop: [1], loop_control: {pause: '{{ word }}'}}"
    ),
    "a number of retries": "{command: 'true', retries: '{{ word }}', until: false}",
    "a delay": "{command: 'false', retries: 1, delay: '{{ word }}', until: false}",
    "a time limit": "{command: 'true', timeout: '{{ word }}'}",
    "a throttle": "{command: 'true', throttle: '{{ word }}'}",
    "a handler": "{command: 'true', notify: 'restart {{ word }}'}",
    "a delegate": "{command: 'true', delegate_to: 'host-{{ word }}'}",
    "a loop's end": (
        f"{{command: 'true', loop: {ITEMS}, loop_control: {{break_when: '{{{{ {{}}[item.password]"
        " }}'}}"
    ),
    "ignore_errors": "{command: 'true', ignore_errors: '{{ word }}'}",
    "an environment": "{command: 'true', environment: '{{ word }}'}",
    "a become method": "{command: 'true', become: true, become_method: '{{ word }}'}",
}


def told(stage: Stage, *words: str, **steps: str) -> tuple[Outcome, str]:
    """How a play with these steps under no_log ended, and all that is known of it afterwards; each
    has a secret of its own."""
    (stage.folder / "inner.yaml").write_text("- {name: inner, command: 'true'}\n")
    tasks = "".join(
        f"    - block:\n        - {step}\n      no_log: true\n      vars: {{word:"
        f" {SECRET}.{way}.}}\n"
        for way, step in steps.items()
    )
    ended = stage.play(
        f"- hosts: node1\n  gather_facts: false\n  tasks:\n{tasks}", *words, as_json=False
    )
    recorded = [
        path.read_text(errors="replace") for path in stage.state.rglob("*") if path.is_file()
    ]
    shown = stage.invoke("runs.show", "--events").text if recorded else ""
    return ended, "\n".join([ended.text, *recorded, shown])


@pytest.mark.parametrize("words", [("--verbose", "--diff"), ("--json",)], ids=["screen", "json"])
def test_a_hidden_step_tells_nothing_on_any_way(stage: Stage, words: tuple[str, ...]) -> None:
    ended, known = told(stage, *words, **LEAKS)
    assert ended.code == 0 and "Traceback" not in ended.text, ended.text
    assert [way for way in LEAKS if f"{SECRET}.{way}." in known] == [] and SECRET not in known


@pytest.mark.parametrize("way", BREAKS)
def test_a_hidden_step_that_cannot_be_started_tells_nothing_of(stage: Stage, way: str) -> None:
    ended, known = told(stage, "--verbose", **{way: BREAKS[way]})
    assert SECRET not in known
    assert ended.code, ended.text


def test_a_hidden_loop_says_that_its_items_are_hidden(stage: Stage) -> None:
    ended, _ = told(stage, item=LEAKS["a failed item"])
    assert f"(item={HIDDEN})" in ended.out and f"    {HIDDEN}\n" in ended.out


def test_an_item_may_decide_that_a_step_is_hidden(stage: Stage) -> None:
    decides = "no_log: '{{ item.name == \"bob\" }}'"
    ended, known = told(
        stage, item=f"{{command: 'echo {{{{ item.password }}}}', loop: {ITEMS}, {decides}}}"
    )
    assert ended.code == 0 and HIDDEN in ended.out and SECRET not in known


def test_what_a_rollback_cannot_restore_is_named_without_the_reason(stage: Stage) -> None:
    ended = stage.play(
        f"""
- hosts: node1
  gather_facts: false
  vars: {{word: "{SECRET}"}}
  tasks:
    - block:
        - file: {{path: "{{{{ home }}}}/{{{{ word }}}}", state: directory}}
        - copy: {{content: "{{{{ item }}}}", dest: "{{{{ home }}}}/{{{{ word }}}}/file"}}
          loop: [before, after]
        - shell: "cd {{{{ home }}}}; rm -r {{{{ word }}}}; touch {{{{ word }}}}; false"
      no_log: true
""",
        "--rollback",
        as_json=False,
    )
    assert ended.code == 2 and f"copy: {HIDDEN}" in ended.out, ended.text
    assert SECRET not in ended.text


def test_what_a_hidden_step_registered_is_shown_by_a_step_that_is_not_hidden(stage: Stage) -> None:
    ended = stage.play(
        f"""
- hosts: node1
  gather_facts: false
  tasks:
    - {{command: echo {SECRET}, no_log: true, register: kept}}
    - debug: {{var: kept.stdout}}
""",
        as_json=False,
    )
    assert (
        ended.code == 0 and SECRET in ended.out
    )  # as Ansible does: the playbook's author asked for it
