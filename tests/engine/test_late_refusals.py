"""Steps that cannot work but are meant to fail, and steps whose module is known when they run."""

from __future__ import annotations

import pytest

from tests.support.runner import Stage


@pytest.mark.parametrize(
    ("step", "message"),
    [
        ("add_host: nameonly", "does not support raw params"),
        ("debug: {msg: \"{{ 'a' | nofilter }}\"}", "nofilter"),
        ("{command: 'true', timeout: -1}", "Timeout -1 is invalid"),
        ("{command: 'true', vars: {x: '{{ 1 +'}}", "template syntax"),
        ("git: {repo: /r}", "destination directory must be specified"),
    ],
)
def test_what_is_wrong_with_an_ignored_step_is_its_result(
    stage: Stage, step: str, message: str
) -> None:
    words = step if step.startswith("{") else "{" + step + "}"
    words = words[:-1] + ", name: wrong, ignore_errors: true}"
    done = stage.play(f"""
- hosts: node1
  gather_facts: false
  tasks:
    - {words}
    - {{name: after, debug: {{msg: here}}}}
""")
    assert done.code == 0, done.text
    assert message in done.result("node1", "wrong")["values"]["msg"]
    assert done.result("node1", "after")["status"] == "ok"


@pytest.mark.parametrize(
    ("step", "message"),
    [
        # The same mistake as above, in a step that is not ignored
        ('{name: wrong, command: "true", timeout: -1}', "timeout takes seconds"),
        # What no step may have, ignored or not
        (
            "{name: wrong, set_fact: {_ansible_mine: 1}, ignore_errors: true}",
            "reserved for internal use only",
        ),
    ],
)
def test_a_mistake_that_cannot_be_meant_is_refused_before_a_host_is_touched(
    stage: Stage, step: str, message: str
) -> None:
    done = stage.play(f"""
- hosts: node1
  gather_facts: false
  tasks:
    - {{name: first, command: "true"}}
    - {step}
""")
    assert done.code == 5
    assert message in done.text
    assert "first" not in done.text


def test_a_template_names_the_module_of_a_step(stage: Stage) -> None:
    done = stage.play("""
- hosts: node1
  gather_facts: false
  vars: {chosen: command}
  tasks:
    - {name: line, action: "{{ chosen }} echo one", register: line}
    - name: mapping
      action: {module: "{{ 'deb' ~ 'ug' }}", msg: "{{ line.stdout }}"}
    - {name: skipped, action: "{{ nowhere }} a=1", when: false}
    - {name: unknown, action: "{{ 'no' ~ 'thing' }} a=1", ignore_errors: true}
""")
    assert done.code == 0, done.text
    assert done.result("node1", "mapping")["values"]["msg"] == "one"
    assert done.result("node1", "skipped")["status"] == "skipped"
    assert 'no module "nothing"' in done.result("node1", "unknown")["values"]["msg"]


@pytest.mark.parametrize("module", ["add_host", "include_vars", "copy", "template", "debug"])
def test_a_host_cannot_choose_a_module_that_acts_on_this_machine(stage: Stage, module: str) -> None:
    done = stage.play(f"""
- hosts: node1
  gather_facts: false
  tasks:
    - {{shell: "echo {module}", register: answer}}
    - {{name: chosen, action: "{{{{ answer.stdout }}}} src=/etc/hostname dest=/tmp/x name=evil"}}
""")
    assert done.code == 2
    assert "does not only act on the host" in done.text


def test_a_host_can_choose_among_modules_that_act_on_it(stage: Stage) -> None:
    done = stage.play("""
- hosts: node1
  gather_facts: false
  tasks:
    - {shell: "echo ping", register: answer}
    - {name: chosen, action: "{{ answer.stdout }}"}
""")
    assert done.code == 0, done.text
    assert done.result("node1", "chosen")["values"]["ping"] == "pong"


def test_arguments_in_a_line_come_before_those_of_a_template(stage: Stage) -> None:
    done = stage.play("""
- hosts: node1
  gather_facts: false
  vars: {given: {msg: from the template, verbosity: 0}}
  tasks:
    - {name: mixed, debug: "{{ given }} msg=mine"}
""")
    assert done.code == 0, done.text
    assert done.result("node1", "mixed")["values"]["msg"] == "mine"


def test_a_label_may_read_the_result_of_its_item(stage: Stage) -> None:
    done = stage.play("""
- hosts: node1
  gather_facts: false
  tasks:
    - name: labelled
      command: "echo <{{ item }}>"
      register: ran
      loop: [a, b]
      loop_control: {label: "{{ ran.stdout }}"}
""")
    assert done.code == 0, done.text
    assert "<a>" in done.text and "<b>" in done.text


def test_a_key_that_is_written_twice_is_said(stage: Stage) -> None:
    done = stage.play("""
- hosts: node1
  gather_facts: false
  vars:
    word: first
    word: second
  tasks:
    - {name: shows, debug: {msg: "{{ word }}"}}
""")
    assert done.code == 0
    assert done.result("node1", "shows")["values"]["msg"] == "second"
    assert "Found duplicate mapping key 'word'" in done.text


def test_failed_when_decides_also_after_the_last_attempt(stage: Stage) -> None:
    done = stage.play("""
- hosts: node1
  gather_facts: false
  tasks:
    - {name: tried, command: "true", register: ran, until: 1 == 0, retries: 2, delay: 0,
       failed_when: ran.attempts > 6}
    - {name: after, debug: {msg: here}}
""")
    assert done.code == 0, done.text
    assert done.result("node1", "tried")["values"]["attempts"] == 2


def test_files_named_after_unknown_facts_are_passed_over(stage: Stage) -> None:
    done = stage.play("""
- hosts: node1
  gather_facts: false
  tasks:
    - name: found
      debug: {msg: "{{ item }}"}
      with_first_found: ["{{ unknown_fact }}.yml", /etc/hostname]
""")
    assert done.code == 0, done.text
    assert "/etc/hostname" in done.text
