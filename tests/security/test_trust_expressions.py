"""Text from a host is no part of an expression; what an author wrote elsewhere still is."""

from __future__ import annotations

import pytest

from tests.support.security.victim import (
    Victim,
    victim,  # noqa: F401
)

# Expressions.

ESCAPES = [
    "y' or lookup('pipe', 'COMMAND') or 'x",
    (
        "y' or self._TemplateReference__context.environment.functions['lookup']('pipe','COMMAND')"
        " or 'x"
    ),
    "y' or cycler['__init__'|e]['__globals__'|e]['os']['popen']('COMMAND').read() or 'x",
    "lookup('pipe', 'COMMAND') == ''",
    "{{ lookup('pipe', 'COMMAND') }}",
    "x\" or lookup('pipe', 'COMMAND') or \"",
]


@pytest.mark.parametrize("escape", ESCAPES)
def test_text_from_a_host_is_no_part_of_an_expression(victim: Victim, escape: str) -> None:
    text = escape.replace("COMMAND", victim.command)
    said = victim.said(text)
    victim.write("- debug: {msg: applied}\n", "applied.yaml")
    outcome = victim.safe(
        victim.play(f"""
- hosts: node1
  gather_facts: false
  tasks:
    - command: {said}
      register: r
    - debug: {{msg: when}}
      when: "'x' == '{{{{ r.stdout }}}}'"
    - debug: {{msg: double quotes}}
      when: "\\"x\\" == \\"{{{{ r.stdout }}}}\\""
    - debug: {{msg: no quotes}}
      when: "'x' == {{{{ r.stdout }}}}"
    - command: {said}
      register: failed_when
      failed_when: "'x' == '{{{{ r.stdout }}}}'"
    - command: {said}
      register: changed_when
      changed_when: "'x' == '{{{{ changed_when.stdout }}}}'"
    - command: {said}
      register: again
      until: "'x' != '{{{{ again.stdout }}}}'"
    - debug: {{msg: loop}}
      loop: ["{{{{ r.stdout }}}}"]
      when: "'x' == '{{{{ item }}}}'"
    - assert: {{that: ["'x' != '{{{{ r.stdout }}}}'"]}}
    - include_tasks: {{file: applied.yaml, apply: {{when: "'x' == '{{{{ r.stdout }}}}'"}}}}
    - debug: {{var: "{{{{ r.stdout }}}}"}}
      ignore_errors: true
    - assert: {{that: "{{{{ r.stdout }}}}"}}
      ignore_errors: true
    - debug: {{msg: whole}}
      when: "{{{{ r.stdout }}}}"
      ignore_errors: true
    - debug: {{msg: of a variable}}
      when: "{{{{ condition }}}}"
      vars: {{condition: "'x' == '{{{{ r.stdout }}}}'"}}
      ignore_errors: true
""")
    )
    assert outcome.counts("node1")["ignored"] == 4
    assert "not written in the playbook" in outcome.text


def test_a_condition_that_its_author_wrote_elsewhere_is_still_evaluated(victim: Victim) -> None:
    outcome = victim.safe(
        victim.play(
            """
- hosts: node1
  gather_facts: false
  vars:
    cond: "n == 1"
    n: 1
    indirect: "{{ cond }}"
    flag: "{{ n == 1 }}"
    text: "'a' == '{{ 'a' }}'"
  tasks:
    - debug: {msg: ran}
      when: ["{{ cond }}", "{{ indirect }}", "{{ flag }}", "{{ text }}"]
    - debug: {msg: ran}
      loop: ["n == 1", "n == 2"]
      when: "{{ item }}"
    - set_fact: {kept: "n == 1", made: "n == {{ n }}"}
    - debug: {msg: ran}
      when: ["{{ kept }}", "{{ made }}"]
    - debug: {var: "{{ item }}"}
      loop: [n, cond]
""",
            "--extra-vars",
            "given=true",
        )
    )
    ran = [found["status"] for found in outcome.data["results"] if found["step"] == "debug"]
    assert ran == ["ok", "ok", "ok", "ok"], outcome.out
    assert outcome.counts("node1")["ok"] == 5
