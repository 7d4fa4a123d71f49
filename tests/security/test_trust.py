"""Text from a host is data: never a template, never part of an expression, never a setting of a
connection."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.support.runner import Outcome, Stage
from tests.support.security.lying import interpreter
from tests.support.sshd import NodeSet


class Victim(Stage):
    """A stage with a file that only a command run for a host's sake would make."""

    def __init__(self, folder: Path, nodes: NodeSet, interpreter: str = "") -> None:
        variables = {"ansible_python_interpreter": interpreter} if interpreter else {}
        super().__init__(folder, nodes.inventory(folder, **variables))
        self.canary = folder / "canary"

    @property
    def command(self) -> str:
        return f"touch {self.canary}"

    @property
    def template(self) -> str:
        return "{{ lookup('pipe', 'COMMAND') }}".replace("COMMAND", self.command)

    def safe(self, outcome: Outcome, code: int = 0) -> Outcome:
        assert not self.canary.exists(), outcome.text
        assert outcome.code == code, outcome.text
        assert "Traceback" not in outcome.text
        return outcome

    def said(self, text: str) -> str:
        """A command line that makes the host print this text, which stands in a file of its own."""
        file = self.folder / f"said-{abs(hash(text))}"
        file.write_text(text)
        return f"cat {file}"


@pytest.fixture
def victim(tmp_path: Path, nodes: NodeSet) -> Victim:
    return Victim(tmp_path, nodes)


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
      debug: {msg: "{{ where.stdout }} {{ ansible_host }} {{ ansible_connection | default('ssh') }} {{ ansible_kept }}"}
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
  vars: {cond: "n == 1", n: 1, indirect: "{{ cond }}", flag: "{{ n == 1 }}", text: "'a' == '{{ 'a' }}'"}
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


# Encrypted files.

VAULT = """$ANSIBLE_VAULT;1.1;AES256
37333733373337333733373337333733373337333733373337333733373337333733373337333733
3733373337333733373337333733373337333733373337330a633832326162333234313964303864
38636464343166386166613163656330383431663933353539393934326330306138323866353639
6632666665313232640a353331663732313632383132336466613965666639643861626233633962
3032
"""


@pytest.mark.parametrize(
    "step",
    [
        "copy: {src: secret, dest: DEST}",
        "copy: {src: folder/, dest: DEST}",
        "template: {src: secret, dest: DEST}",
        "template: {src: including.j2, dest: DEST}",
        "script: secret",
        "unarchive: {src: secret, dest: /tmp}",
        "copy: {content: \"{{ lookup('file', 'secret') }}\", dest: DEST}",
        "copy: {content: \"{{ lookup('template', 'secret') }}\", dest: DEST}",
        "copy: {content: \"{{ lookup('ini', 'a', file='secret') }}\", dest: DEST}",
    ],
)
def test_what_is_encrypted_is_not_sent_without_its_password(
    victim: Victim, nodes: NodeSet, step: str
) -> None:
    dest = nodes["node1"].scratch / victim.folder.name
    (victim.folder / "folder").mkdir()
    for name in ("secret", "folder/secret"):
        (victim.folder / name).write_text(VAULT)
    (victim.folder / "including.j2").write_text("{% include 'secret' %}")
    outcome = victim.safe(
        victim.play(f"""
- hosts: node1
  gather_facts: false
  tasks: [{{{step.replace("DEST", str(dest))}}}]
"""),
        2,
    )
    assert "secret:1: encrypted with vault, and no password is given" in outcome.text
    assert not dest.exists()


def test_an_encrypted_file_is_sent_as_it_is_when_that_is_asked_for(
    victim: Victim, nodes: NodeSet
) -> None:
    dest = nodes["node1"].scratch / victim.folder.name
    (victim.folder / "secret").write_text(VAULT)
    victim.safe(
        victim.play(f"""
- hosts: node1
  gather_facts: false
  tasks: [copy: {{src: secret, dest: {dest}, decrypt: false}}]
""")
    )
    assert dest.read_text() == VAULT
