"""A template may give all arguments of a step, but a host may not: it could name any file here."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.security.victim import Victim, victim  # noqa: F401

ACTION = """
from ansible.plugins.action import ActionBase
class ActionModule(ActionBase):
    def run(self, tmp=None, task_vars=None):
        return {'changed': True, 'given': dict(self._task.args), 'diff': [
            'a text', {'before': [1], 'after': {'x': 2}}, {'prepared': ['y']}]}
"""
MODULE = """
from ansible.module_utils.basic import AnsibleModule
module = AnsibleModule(argument_spec=dict(size=dict(type='int')), supports_check_mode=True)
module.exit_json(changed=True, size=module.params['size'], diff=[
    'a text', dict(before=['old'], after=['new']), dict(before=5, after=None)])
"""


def write_plugins(folder: Path) -> None:
    for name, text in {
        "action_plugins/acts.py": ACTION,
        "library/acts.py": MODULE,
        "library/sizes.py": MODULE,
    }.items():
        path = folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)


WAYS = {
    "a result": '- copy: "{{ r.stdout | from_json }}"',
    "args": '- copy: {}\n      args: "{{ r.stdout | from_json }}"',
    "a loop": '- copy: "{{ item }}"\n      loop: ["{{ r.stdout | from_json }}"]',
    "a fact": '- set_fact: {f: "{{ r.stdout | from_json }}"}\n    - copy: "{{ f }}"',
    "vars": '- copy: "{{ v }}"\n      vars: {v: "{{ hostvars.node1.r.stdout | from_json }}"}',
    "a mixture": "- copy: \"{{ {'mode': '0600'} | combine(r.stdout | from_json) }}\"",
    "an action plugin": '- acts: "{{ r.stdout | from_json }}"',
}


@pytest.mark.parametrize("way", WAYS)
def test_a_host_cannot_give_all_arguments_of_a_step(victim: Victim, way: str) -> None:
    write_plugins(victim.folder)
    secret, taken = victim.folder / "secret", victim.folder / "taken"
    secret.write_text("a file of the controller")
    said = victim.said(json.dumps({"src": str(secret), "dest": str(taken)}))
    outcome = victim.play(f"""
- hosts: node1
  gather_facts: false
  tasks:
    - {{command: {said}, register: r}}
    {WAYS[way]}
""")
    victim.safe(outcome, 2)
    assert not taken.exists()
    assert "which no playbook or inventory wrote" in outcome.text, outcome.text


def test_an_author_s_mapping_reaches_modules_and_action_plugins(victim: Victim) -> None:
    write_plugins(victim.folder)
    outcome = victim.play(
        """
- hosts: node1
  gather_facts: false
  vars: {options: {size: 5}}
  tasks:
    - {name: module, sizes: "{{ options }}"}
    - {name: action, acts: "{{ options }}"}
""",
        "--diff",
    )
    victim.safe(outcome)
    assert outcome.result("node1", "module")["values"]["size"] == 5
    assert outcome.result("node1", "action")["values"]["given"] == {"size": 5}


def test_a_diff_of_any_shape_is_shown(victim: Victim) -> None:
    write_plugins(victim.folder)
    outcome = victim.play(
        """
- hosts: node1
  gather_facts: false
  tasks:
    - {name: module, sizes: {size: 5}}
    - {name: action, acts: {size: 5}}
""",
        "--diff",
        as_json=False,
    )
    victim.safe(outcome)
    assert outcome.text.count("a text") == 2 and '+    "new"' in outcome.text, outcome.text
