"""What a host reports chooses no address, user or other connection setting."""

from __future__ import annotations

import json

import pytest

from tests.support.security.victim import (
    Victim,
    victim,  # noqa: F401
)
from tests.support.sshd import NodeSet

# Settings of connections.

ADDRESSES = [
    "x; COMMAND;",
    "*\n ProxyCommand COMMAND",
    "x\nCOMMAND #",
    "$(COMMAND)",
    "-oProxyCommand=COMMAND",
    "`COMMAND`",
    "a b",
    "x'y",
]


@pytest.mark.parametrize(
    ("address", "way"),
    [
        *((address, "add_host") for address in ADDRESSES),
        *((ADDRESSES[0], way) for way in ("set_fact", "vars", "delegate_to", "name")),
    ],
)
def test_an_address_from_a_host_is_a_plain_word(victim: Victim, address: str, way: str) -> None:
    (victim.folder / "config").write_text('Host * !127.*\n  ProxyCommand sh -c "false %h %p"\n')
    ways = {
        "add_host": '    - add_host: {name: made, ansible_host: "{{ r.stdout }}"}',
        "set_fact": (
            '    - set_fact: {ansible_host: "{{ r.stdout }}"}\n    - meta: reset_connection\n    -'
            ' command: "true"'
        ),
        "vars": '    - command: "true"\n      vars: {ansible_host: "{{ r.stdout }}"}',
        "delegate_to": '    - command: "true"\n      delegate_to: "{{ r.stdout }}"',
        "name": '    - add_host: {name: "{{ r.stdout }}", groups: made}',
    }
    outcome = victim.play(
        f"""
- hosts: node1
  gather_facts: false
  tasks:
    - command: {victim.said(address.replace("COMMAND", victim.command))}
      register: r
{ways[way]}
- hosts: made
  gather_facts: false
  vars: {{ansible_ssh_common_args: "-F {victim.folder}/config"}}
  tasks: [{{command: "true"}}]
""",
        "--extra-vars",
        (
            json.dumps({"ansible_ssh_extra_args": f"-F {victim.folder}/config"})
            if way == "delegate_to"
            else "a=b"
        ),
    )
    victim.safe(outcome, 2)
    assert any(
        text in outcome.text for text in ("plain word", "cannot be", "must be an address")
    ), outcome.text


SETTINGS = {
    "ansible_ssh_common_args": "-o ProxyCommand='COMMAND'",
    "ansible_ssh_private_key_file": "/etc/hostname",
    "ansible_python_interpreter": "/bin/sh",
    "ansible_connection": "local",
    "ansible_become_exe": "sudo",
    "ansible_become_flags": "-n",
    "ansible_become_method": "su",
}


@pytest.mark.parametrize(
    ("name", "way"),
    [
        *((name, "vars") for name in SETTINGS),
        *(("ansible_ssh_common_args", way) for way in ("add_host", "set_fact", "hostvars", "loop")),
    ],
)
def test_no_other_setting_is_made_of_what_a_host_said(
    victim: Victim, nodes: NodeSet, name: str, way: str
) -> None:
    value, node = SETTINGS[name], nodes["node2"]
    ways = {
        "add_host": f'    - add_host: {{name: made, {name}: "{{{{ r.stdout }}}}"}}',
        "set_fact": (
            f'    - set_fact: {{{name}: "{{{{ r.stdout }}}}"}}\n    - meta: reset_connection\n    -'
            ' command: "true"'
        ),
        "vars": (
            f'    - command: "true"\n      vars: {{{name}: "{{{{ r.stdout ~ empty }}}}", empty:'
            ' ""}'
        ),
        "hostvars": (
            f'    - command: "true"\n      vars: {{{name}: "{{{{ hostvars[\'node1\'].r.stdout'
            ' }}"}'
        ),
        "loop": (
            f'    - command: "true"\n      vars: {{{name}: "{{{{ item }}}}"}}\n      loop: ["{{{{'
            ' r.stdout }}"]'
        ),
    }
    outcome = victim.play(f"""
- hosts: node1
  gather_facts: false
  become: {"true" if "become" in name else "false"}
  become_user: daemon
  tasks:
    - command: {victim.said(value.replace("COMMAND", victim.command))}
      register: r
      become: false
{ways[way]}
- hosts: made
  gather_facts: false
  become: {"true" if "become" in name else "false"}
  vars: {{ansible_host: "{node.address}", ansible_port: {node.port}}}
  tasks: [{{command: "true"}}]
""")
    victim.safe(outcome, 2)
    assert "which no playbook, inventory or command line wrote" in outcome.text, outcome.text


def test_an_address_and_a_user_may_be_passed_on(victim: Victim, nodes: NodeSet) -> None:
    node = nodes["node2"]
    outcome = victim.safe(
        victim.play(f"""
- hosts: node1
  gather_facts: false
  tasks:
    - command: {victim.said(f"{node.address} {node.port} {node.user}")}
      register: r
    - add_host:
        name: made
        groups: [nodes]
        ansible_host: "{{{{ r.stdout.split()[0] }}}}"
        ansible_port: "{{{{ r.stdout.split()[1] }}}}"
        ansible_user: "{{{{ r.stdout.split()[2] }}}}"
        ansible_ssh_private_key_file: "{{{{ keys }}}}/{{{{ key_name }}}}"
      vars: {{keys: "{node.key_file.parent}", key_name: "{node.key_file.name}"}}
- hosts: made
  gather_facts: false
  tasks: [{{command: echo reached}}]
""")
    )
    assert outcome.result("made", "command")["values"]["stdout"] == "reached"


def test_a_host_cannot_have_a_step_delegated_to_this_machine(victim: Victim) -> None:
    outcome = victim.safe(
        victim.play(f"""
- hosts: node1
  gather_facts: false
  tasks:
    - command: {victim.said("localhost")}
      register: r
    - command: {victim.command}
      delegate_to: "{{{{ r.stdout }}}}"
"""),
        2,
    )
    assert "write localhost itself" in outcome.text


@pytest.mark.parametrize(
    "name", ["all", "nodes", "node1:node2", "*", "!node1", "~n.*", "a,b", "node[1:2]"]
)
def test_a_host_cannot_name_a_new_host_so_that_others_are_selected(
    victim: Victim, name: str
) -> None:
    outcome = victim.safe(
        victim.play(f"""
- hosts: node1
  gather_facts: false
  tasks:
    - command: {victim.said(name)}
      register: r
    - add_host: {{name: "{{{{ r.stdout }}}}", groups: [made]}}
- hosts: "{{{{ groups.made }}}}"
  gather_facts: false
  tasks: [{{command: {victim.command}}}]
"""),
        2,
    )
    assert "node2" not in outcome.data["recap"]
