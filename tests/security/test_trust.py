"""Text from a host is data: never a template, never part of an expression, never a setting of a
connection."""

from __future__ import annotations

import json
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.support.security.lying import interpreter
from tests.support.security.victim import (
    Victim,
    victim,  # noqa: F401
)
from tests.support.sshd import NodeSet

# Facts.


def test_a_host_cannot_choose_how_it_is_reached_by_its_facts(
    tmp_path: Path, nodes: NodeSet
) -> None:
    lies = {
        "ansible_connection": "local",
        "ansible_host": "127.0.0.99",
        "ansible_port": 1,
        "ansible_user": "root",
        "ansible_ssh_common_args": f"-o 'ProxyCommand=touch {tmp_path / 'canary'}'",
        "ansible_become": True,
        "ansible_become_exe": f"touch {tmp_path / 'canary'};",
        "ansible_ssh_private_key_file": "/etc/shadow",
        "ansible_python_interpreter": "/bin/false",
        "via": "node2",
        "ansible_become_user": "daemon",
        "inventory_hostname": "other",
        "playbook_dir": "/",
        "ansible_remote_tmp": "/",
        "kept": "yes",
    }
    victim = Victim(tmp_path, nodes, str(interpreter(tmp_path, lies)))
    outcome = victim.safe(
        victim.play("""
- hosts: node1
  tasks: [{debug: {msg: gathered}}]
- hosts: node1
  gather_facts: false
  tasks:
    - meta: reset_connection
    - shell: echo "${SSH_CONNECTION:-here} $(id -un)"
      register: where
    - name: seen
      debug:
        msg: "{{ where.stdout }} {{ ansible_host }}
          {{ ansible_connection | default('ssh') }} {{ ansible_kept }}"
""")
    )
    said = outcome.result("node1", "seen")["values"]["msg"]
    assert "here" not in said and said.endswith(f"{nodes['node1'].address} ssh yes"), said
    assert said.split()[4] == nodes["node1"].user
    warned = outcome.result("node1", "Gathering Facts")["values"]["warnings"]
    assert (
        len(warned) == 1
        and "ignored facts of node1" in warned[0]
        and "ansible_connection" in warned[0]
    )


def test_any_module_s_facts_are_as_little_believed(tmp_path: Path, nodes: NodeSet) -> None:
    lies = {
        "ansible_connection": "local",
        "ansible_ssh_extra_args": f"-o ProxyCommand='touch {tmp_path / 'canary'}'",
    }
    victim = Victim(tmp_path, nodes, str(interpreter(tmp_path, lies, always=True)))
    outcome = victim.safe(
        victim.play("""
- hosts: node1
  gather_facts: false
  tasks:
    - command: "true"
    - meta: reset_connection
    - shell: echo "${SSH_CONNECTION:-here}"
      register: where
- hosts: node1
  gather_facts: false
  tasks:
    - shell: echo "${SSH_CONNECTION:-here}"
      register: again
    - assert: {that: ["'here' not in where.stdout", "'here' not in again.stdout"]}
""")
    )
    assert outcome.counts("node1")["failed"] == 0


# Templates.


def test_text_from_a_host_in_add_host_is_not_rendered(victim: Victim) -> None:
    outcome = victim.safe(
        victim.play(f"""
- hosts: node1
  gather_facts: false
  tasks:
    - command: {victim.said(victim.template)}
      register: r
    - add_host: {{name: made, evil: "{{{{ r.stdout }}}}", deep: {{a: ["x{{{{ r.stdout }}}}"]}}}}
- hosts: made
  gather_facts: false
  tasks:
    - debug: {{msg: "{{{{ evil }}}}|{{{{ deep.a[0] }}}}"}}
""")
    )
    assert (
        outcome.result("made", "debug")["values"]["msg"] == f"{victim.template}|x{victim.template}"
    )


PIECES = st.sampled_from(
    [
        "{{",
        "}}",
        "{%",
        "%}",
        "{#",
        "#}",
        "'",
        '"',
        "\\",
        " ",
        "\n",
        "a",
        "or ",
        "if 1",
        "raw",
        "self",
        "item",
        "LOOKUP",
        "{{ LOOKUP }}",
        "{% set x = LOOKUP %}",
        "' or LOOKUP or '",
    ]
)


TEXTS = st.lists(PIECES, min_size=1, max_size=8).map("".join)


ROUTES = """
- hosts: node1
  vars: {through_vars: "{{ fact }}", held: {inside: ["{{ fact }}"]}}
  tasks:
    - command: cat TEXTS
      register: r
    - set_fact: {fact: "{{ r.stdout | from_json }}", yaml: "{{ r.stdout | from_yaml }}"}
    - set_fact: {again: "{{ fact }}", one: "{{ fact | first }}"}
    - add_host: {name: made, texts: "{{ fact }}", first: "{{ fact | first }}"}
    - group_by: {key: "{{ fact | first }}"}
      ignore_errors: true
    - debug: {msg: "{{ item }}"}
      loop: "{{ fact }}"
      register: looped
    - include_tasks: included.yaml
      vars: {passed: "{{ fact }}"}
    - name: all routes
      debug:
        msg:
          facts: "{{ ansible_texts }}"
          ansible_facts: "{{ ansible_facts.texts }}"
          from_json: "{{ r.stdout | from_json }}"
          from_yaml: "{{ yaml }}"
          set_fact: "{{ again }}"
          vars: "{{ through_vars }}"
          inside: "{{ held.inside[0] }}"
          loop: "{{ looped.results | map(attribute='msg') | list }}"
          hostvars: "{{ hostvars['made'].texts }}"
          own_hostvars: "{{ hostvars['node1'].fact }}"
          vars_mapping: "{{ vars['fact'] }}"
          lookup: "{{ lookup('vars', 'fact') }}"
          task_vars: "{{ of_task }}"
      vars: {of_task: "{{ again }}"}
- hosts: made
  gather_facts: false
  tasks:
    - name: all routes
      debug: {msg: {inventory: "{{ texts }}", other: "{{ hostvars['node1'].again }}"}}
"""


INCLUDED = """
- name: included
  debug: {msg: "{{ passed }}"}
"""


@settings(
    max_examples=4, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(texts=st.lists(TEXTS, min_size=10, max_size=20))
def test_text_from_a_host_is_the_same_text_after_every_route(
    tmp_path: Path, nodes: NodeSet, texts: list[str]
) -> None:
    lookup = f"lookup('pipe', 'touch {tmp_path / 'canary'}')"
    texts = [text.replace("LOOKUP", lookup) for text in texts]
    victim = Victim(tmp_path, nodes, str(interpreter(tmp_path, {"texts": texts})))
    (tmp_path / "texts.json").write_text(json.dumps(texts))
    victim.write(INCLUDED, "included.yaml")
    outcome = victim.safe(victim.play(ROUTES.replace("TEXTS", str(tmp_path / "texts.json"))))
    for host in ("node1", "made"):
        for route, arrived in outcome.result(host, "all routes")["values"]["msg"].items():
            assert arrived == texts, route
    assert outcome.result("node1", "included")["values"]["msg"] == texts
