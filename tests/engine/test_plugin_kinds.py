"""Callbacks, plugins of variables and inventory plugins written for Ansible."""

from __future__ import annotations

import json

from tests.support.runner import Stage, beside


def test_callbacks_hear_of_plays_tasks_and_results_in_order(stage: Stage) -> None:
    heard = stage.folder / "heard"
    beside(stage, "callback_plugins/listens.py", f"""
from ansible.plugins.callback import CallbackBase
class CallbackModule(CallbackBase):
    CALLBACK_VERSION, CALLBACK_TYPE, CALLBACK_NAME = 2.0, 'notification', 'listens'
    def _note(self, *words):
        open({str(heard)!r}, 'a').write(' '.join(map(str, words)) + '\\n')
        print('to standard output')
    def v2_playbook_on_start(self, playbook): self._note('start')
    def v2_playbook_on_play_start(self, play): self._note('play', play.get_name())
    def v2_playbook_on_task_start(self, task, is_conditional): self._note('task', task.get_name())
    def v2_runner_on_ok(self, result):
        name, msg = result._task.get_name(), result._result.get('msg')
        self._note('ok', name, result.is_changed(), msg)
    def v2_runner_on_skipped(self, result): self._note('skipped', result._task.get_name())
    def v2_runner_on_failed(self, result, ignore_errors=False):
        self._note('failed', result._result['msg'], ignore_errors)
    def v2_runner_on_async_poll(self, result):
        self._note('poll', 'ansible_job_id' in result._result)
    def v2_runner_on_async_ok(self, result): self._note('async ok')
    def v2_runner_on_async_failed(self, result): self._note('async failed')
    def v2_runner_item_on_ok(self, result): self._note('item', result._result['item'])
    def v2_playbook_on_stats(self, stats):
        self._note('stats', stats.summarize('node1')['ok'], sorted(stats.processed))
""")  # fmt: skip
    beside(stage, "callback_plugins/breaks.py", """
from ansible.plugins.callback import CallbackBase
class CallbackModule(CallbackBase):
    CALLBACK_VERSION, CALLBACK_TYPE, CALLBACK_NAME = 2.0, 'aggregate', 'breaks'
    def v2_playbook_on_start(self, playbook): raise ValueError('broken listener')
""")  # fmt: skip
    done = stage.play("""
- name: first
  hosts: node1
  gather_facts: false
  tasks:
    - {name: says, debug: {msg: hello}}
    - {name: not now, ping: , when: false}
    - {name: wrong, fail: {msg: on purpose}, ignore_errors: true}
    - {name: many, debug: {msg: "{{ item }}"}, loop: [a, b]}
    - {name: secret, debug: {msg: hidden-word}, no_log: true}
    - {name: later, command: sleep 1.4, async: 10, poll: 1}
    - {name: bad, command: "false", async: 10, poll: 1, ignore_errors: true}
""")
    assert done.code == 0, done.text
    assert json.loads(done.out)["exit_code"] == 0
    assert heard.read_text().splitlines() == [
        "start", "play first", "task says", "ok says False hello", "task not now",
        "skipped not now", "task wrong", "failed on purpose True", "task many", "item a", "item b",
        "ok many False All items completed", "task secret", "ok secret False None",
        "task later", "poll True", "async ok", "ok later True ",
        "task bad", "async failed", "failed non-zero return code True",
        "stats 6 ['node1']",
    ]  # fmt: skip
    assert done.err.count("broken listener") == 1


def test_vars_plugins_give_variables_to_hosts_and_groups(stage: Stage) -> None:
    beside(stage, "vars_plugins/made.py", """
from ansible.plugins.vars import BaseVarsPlugin
class VarsModule(BaseVarsPlugin):
    def get_vars(self, loader, path, entities, cache=True):
        super().get_vars(loader, path, entities)
        kinds = {each.name: type(each).__name__.lower() for each in entities}
        return {'made_for_' + kind: name + ' {{ 1 + 1 }}' for name, kind in kinds.items()}
""")  # fmt: skip
    done = stage.play("""
- hosts: node1
  gather_facts: false
  tasks:
    - {name: shows, debug: {msg: "{{ made_for_host }}, {{ made_for_group }}"}}
""")
    assert done.code == 0, done.text
    assert done.result("node1", "shows")["values"]["msg"] == (
        "node1 {{ 1 + 1 }}, nodes {{ 1 + 1 }}"
    )


def test_an_inventory_plugin_of_ansible_finds_hosts(stage: Stage) -> None:
    hosts = beside(stage, "made.generator.yaml", """
plugin: ansible.builtin.generator
hosts:
  name: "{{ operation }}-{{ place }}"
  parents: [{name: "{{ operation }}", vars: {what: "{{ operation }}"}}]
layers: {operation: [build, launch], place: [here, there]}
""")  # fmt: skip
    done = stage.invoke("inventory.show", "--inventory", hosts)
    assert done.code == 0, done.text
    shown = json.loads(done.out)
    assert sorted(shown["build"]["hosts"]) == ["build-here", "build-there"]
    assert shown["_meta"]["hostvars"]["launch-here"]["what"] == "launch"
