"""Hosts on their own way through a play: steps sent ahead, and where the playbook makes hosts wait
for each other."""

from __future__ import annotations

from tests.support.runner import Stage
from tests.support.sshd import NodeSet


def test_what_was_sent_ahead_of_a_failure_is_not_done(stage: Stage, nodes: NodeSet) -> None:
    done = stage.play("""
- hosts: nodes
  gather_facts: false
  tasks:
    - block:
        - {name: fails here, command: /bin/false, when: inventory_hostname == 'node1'}
        - {name: after, copy: {content: "", dest: "{{ home }}/after"}}
        - {name: later, shell: "echo x > {{ home }}/later"}
      rescue:
        - {name: behind them in the queue, copy: {content: "", dest: "{{ home }}/rescued"}}
""")
    assert done.code == 0, done.text
    folders = [node.scratch / stage.folder.name for node in nodes]
    assert sorted(path.name for path in folders[0].iterdir()) == ["rescued"]
    assert sorted(path.name for path in folders[1].iterdir()) == ["after", "later"]


def test_every_item_of_a_loop_runs_though_one_fails_and_then_the_host_stops(
    stage: Stage, nodes: NodeSet
) -> None:
    done = stage.play("""
- hosts: node1
  gather_facts: false
  tasks:
    - name: each
      shell: "echo {{ item }} >> {{ home }}/log; test {{ item }} != b"
      loop: [a, b, c]
    - {name: after, copy: {content: "", dest: "{{ home }}/after"}}
""")
    home = nodes["node1"].scratch / stage.folder.name
    assert done.code == 2
    assert (home / "log").read_text().split() == ["a", "b", "c"]
    assert not (home / "after").exists()


def test_a_value_of_another_host_is_waited_for(stage: Stage) -> None:
    done = stage.play("""
- hosts: nodes
  gather_facts: false
  tasks:
    - {shell: "sleep 1; echo slow", register: slow, when: inventory_hostname == 'node2'}
    - {set_fact: {mine: "{{ inventory_hostname }} {{ slow.stdout | default('-') }}"}}
    - {name: reads, debug: {msg: "{{ hostvars['node2'].mine }} and {{ hostvars['node1'].mine }}"}}
""")
    assert done.code == 0, done.text
    for host in ("node1", "node2"):
        assert done.result(host, "reads")["values"]["msg"] == "node2 slow and node1 -"


def test_run_once_comes_after_every_host_has_come_there(stage: Stage) -> None:
    done = stage.play("""
- hosts: nodes
  gather_facts: false
  tasks:
    - shell: "sleep 1; touch {{ hostvars['node1'].home }}/from-node2"
      when: inventory_hostname == 'node2'
    - {name: looks, stat: {path: "{{ home }}/from-node2"}, run_once: true, register: seen}
    - {name: knows, assert: {that: seen.stat.exists}}
""")
    assert done.code == 0, done.text
    assert [found["host"] for found in done.data["results"] if found["step"] == "looks"] == [
        "node1"
    ]


def test_a_handler_for_all_that_only_one_host_notifies_still_runs(stage: Stage) -> None:
    done = stage.play("""
- hosts: nodes
  gather_facts: false
  tasks:
    - {command: echo changed, when: inventory_hostname == 'node2', notify: once}
    - {meta: flush_handlers}
    - {name: last, ping: , run_once: true}
  handlers:
    - {name: once, debug: {msg: ran}, run_once: true}
""")
    assert done.code == 0, done.text
    assert [found["host"] for found in done.data["results"] if found["step"] == "once"] == ["node2"]
    assert [found["host"] for found in done.data["results"] if found["step"] == "last"] == ["node1"]


def test_handlers_of_an_early_section_do_not_open_a_later_gate(stage: Stage) -> None:
    done = stage.play("""
- hosts: nodes
  gather_facts: false
  pre_tasks:
    - {command: echo changed, notify: early, when: inventory_hostname == 'node1'}
  tasks:
    - shell: "sleep 1; touch {{ hostvars['node1'].home }}/flag"
      when: inventory_hostname == 'node2'
    - name: looks
      stat: {path: "{{ hostvars['node1'].home }}/flag"}
      delegate_to: node1
      register: seen
    - {assert: {that: seen.stat.exists}}
  handlers:
    - {name: early, debug: {msg: early}}
""")
    assert done.code == 0, done.text


def test_a_missing_include_is_a_failed_step_that_can_be_rescued(stage: Stage) -> None:
    done = stage.play("""
- hosts: node1
  gather_facts: false
  tasks:
    - block:
        - {name: absent, include_tasks: "{{ 'no' ~ 'where' }}.yaml"}
      rescue:
        - {name: saved, debug: {msg: "{{ ansible_failed_result.msg }}"}}
""")
    assert done.code == 0, done.text
    assert "nowhere.yaml" in done.result("node1", "saved")["values"]["msg"]


def test_lockstep_is_there_for_those_who_ask(stage: Stage) -> None:
    done = stage.play("""
- hosts: nodes
  gather_facts: false
  strategy: linear
  tasks:
    - shell: "sleep 1; touch {{ home }}/../shared-{{ inventory_hostname }}"
      when: inventory_hostname == 'node2'
    - {name: peer, stat: {path: "{{ hostvars['node2'].scratch }}/shared-node2"}, register: seen}
    - {assert: {that: seen.stat.exists}}
""")
    assert done.code == 0, done.text


def test_more_hosts_than_forks_all_get_their_turn_at_a_gate(stage: Stage) -> None:
    done = stage.play(
        """
- hosts: nodes
  gather_facts: false
  tasks:
    - {ping: }
    - {name: gate, debug: {msg: x}, run_once: true}
    - {ping: }
""",
        "--forks",
        "1",
    )
    assert done.code == 0, done.text
    assert done.counts("node1")["ok"] == 3 and done.counts("node2")["ok"] == 2
