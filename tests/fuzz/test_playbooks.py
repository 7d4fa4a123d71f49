"""Any text as a playbook."""

from __future__ import annotations

from pathlib import Path

from playrunner.errors import BadInput
from playrunner.playbook import load_playbook
from playrunner.run.selection import make_plan
from tests.support.fuzz.surface import as_bytes, fuzzed, scratch

REPOSITORY = Path(__file__).parents[2]
EVERY_KEYWORD = """
- name: every keyword
  hosts: all:!bad
  serial: [1, 50%]
  max_fail_percentage: 30
  any_errors_fatal: false
  gather_facts: true
  gather_subset: [min]
  strategy: linear
  order: sorted
  become: true
  become_user: root
  port: 22
  vars: {a: 1, b: '{{ a }}', c: [x, {y: z}]}
  vars_files: [x.yaml, [y.yaml, z.yaml]]
  vars_prompt: [{name: p, prompt: text, private: true, default: d}]
  environment: {A: b}
  module_defaults: {copy: {mode: '0644'}}
  tags: [one, two]
  force_handlers: true
  pre_tasks: [{debug: {msg: hi}}]
  roles: [{role: hello, x: 1, tags: t, when: a}]
  tasks:
    - name: step
      command: echo {{ item }} creates=/x
      args: {chdir: /tmp}
      loop: [1, 2]
      loop_control:
        {loop_var: item, index_var: n, label: x, pause: 1, extended: true, break_when: item == 2}
      register: r
      until: r.rc == 0
      retries: 3
      delay: 1
      when: [a == 1, b is defined]
      changed_when: false
      failed_when: r.rc > 1
      notify: [h]
      async: 10
      poll: 2
      throttle: 1
      timeout: 30
      delegate_to: localhost
      run_once: true
      no_log: false
      check_mode: false
      ignore_errors: true
      environment: [{C: d}]
      vars: {q: 1}
    - block: [{file: {path: /x, state: directory}}]
      rescue: [{debug: var=a}]
      always: [{meta: flush_handlers}]
      when: a
    - with_items: [1]
      shell: "true"
    - include_tasks: {file: t.yaml, apply: {tags: x}}
    - import_role: {name: hello}
    - action: {module: ping}
    - local_action: command true
    - set_fact: {x: '{{ y | default(1) }}'}
  handlers: [{name: h, service: {name: x, state: restarted}, listen: topic}]
"""
SEEDS = [
    EVERY_KEYWORD,
    *(path.read_text() for path in sorted((REPOSITORY / "playbooks").glob("*.yaml"))),
]


@fuzzed("playbooks", SEEDS, (BadInput,))
def test_any_playbook_is_loaded_or_refused(text: str) -> None:
    file = scratch("play.yaml")
    file.write_bytes(as_bytes(text))
    try:
        make_plan(load_playbook(file), tags="x")
    except BadInput as refused:
        assert refused.place is not None and refused.place.file, f"names no file: {refused}"
        raise
