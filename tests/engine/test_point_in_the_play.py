"""What a host shows to others: what was known at the reader's point of the play, never later."""

from __future__ import annotations

from playrunner.variables.host_memory import HostMemory
from tests.support.runner import Stage


def test_a_reader_that_is_behind_sees_the_values_of_its_own_point_in_the_play() -> None:
    memory = HostMemory()
    memory.store("registered", {"value": "first"}, (1,))
    memory.store("registered", {"value": "second", "new": True}, (3, 0, 2))
    assert dict(memory.at("registered", (1,))) == {}
    assert dict(memory.at("registered", (3,))) == {"value": "first"}
    assert dict(memory.at("registered", (4,))) == {"value": "second", "new": True}


def test_facts_that_a_host_cleared_later_are_still_there_for_one_behind() -> None:
    memory = HostMemory()
    memory.store("facts", {"ansible_system": "Linux"}, (0,))
    memory.clear_facts((2,))
    assert "ansible_system" in memory.at("facts", (1,))
    assert "ansible_system" in memory.at("facts", (2,))
    assert dict(memory.at("facts", (3,))) == {}


def test_the_next_batch_sees_everything_whatever_its_position() -> None:
    memory = HostMemory()
    memory.store("registered", {"value": 1}, (9,))
    memory.start_batch()
    assert dict(memory.at("registered", (0,))) == {"value": 1}


def test_a_host_that_is_ahead_does_not_show_its_future(stage: Stage) -> None:
    done = stage.play("""
- hosts: nodes
  gather_facts: false
  tasks:
    - {set_fact: {value: early}}
    - {command: sleep 1, when: inventory_hostname == 'node1'}
    - name: reads
      debug: {msg: "{{ hostvars['node2'].value }}"}
      when: inventory_hostname == 'node1'
    - {set_fact: {value: late}}
    - {command: "true", register: done}
    - {debug: {msg: "{{ done.rc }}"}}
""")
    assert done.code == 0, done.text
    assert done.result("node1", "reads")["values"]["msg"] == "early"


def test_a_refused_playbook_has_an_empty_recap_under_json(stage: Stage) -> None:
    done = stage.play("""
- hosts: nodes
  tasks: [{no_such_module: {}}]
""")
    assert done.code == 5
    assert done.data["recap"] == {}
    assert done.data["results"] == []


def test_steps_that_may_never_be_reached_are_warned_about_and_not_refused(stage: Stage) -> None:
    done = stage.play("""
- hosts: node1
  gather_facts: false
  tasks:
    - {include_role: {name: not_there}, when: false}
    - name: role is made
      shell: >-
        mkdir -p $R && echo '[{name: of the role, debug: {msg: late}}]' > $R/main.yml
      environment: {R: "{{ playbook_dir }}/roles/made_later/tasks"}
      delegate_to: localhost
    - {include_role: {name: made_later}}
    - {copy: {content: nowhere}, ignore_errors: true, name: no dest}
    - {debug: {msg: end}, name: end}
""")
    assert done.code == 0, done.text
    assert done.result("node1", "no dest")["status"] == "failed"
    assert done.result("node1", "made_later : of the role")["status"] == "ok"
    assert done.result("node1", "end")["status"] == "ok"
    assert "warning: " in done.text and 'there is no role "not_there"' in done.text


def test_fact_modules_that_do_not_run_are_named(stage: Stage) -> None:
    done = stage.play("""
- hosts: node1
  vars: {ansible_facts_modules: [setup, service_facts]}
""")
    assert done.code == 2
    assert "make service_facts a task of its own" in done.text
