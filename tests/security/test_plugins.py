"""Plugins are the author's code, but what they are given and give back may come from a host: it
stays data."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.security.test_trust import Victim, victim  # noqa: F401
from tests.support.runner import Stage

PLUGINS = {
    "filter_plugins/same.py": """
class FilterModule:
    def filters(self):
        return {'same': lambda value: value, 'joined': lambda value: 'x ' + value}
""",
    "lookup_plugins/echoed.py": """
from ansible.plugins.lookup import LookupBase
class LookupModule(LookupBase):
    def run(self, terms, variables=None, **kwargs):
        return [variables['seen']['stdout']]
""",
    "library/tells.py": """
from ansible.module_utils.basic import AnsibleModule
import json
module = AnsibleModule(argument_spec=dict(file=dict(type='path'), token=dict()))
facts = json.load(open(module.params['file'])) if module.params['file'] else {}
module.exit_json(changed=False, ansible_facts=facts, token=module.params['token'])
""",
}


@pytest.fixture
def plugins(tmp_path: Path) -> None:
    for name, text in PLUGINS.items():
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)


def test_text_of_a_host_is_no_template_after_a_plugin_had_it(
    victim: Victim,
    plugins: None,
) -> None:
    done = victim.play(f"""
- hosts: node1
  gather_facts: false
  tasks:
    - {{shell: "{victim.said(victim.template)}", register: seen}}
    - set_fact: {{kept: "{{{{ seen.stdout | same }}}}", looked: "{{{{ lookup('echoed', 'x') }}}}"}}
    - name: shows
      debug: {{msg: "{{{{ kept }}}} {{{{ looked }}}} {{{{ seen.stdout | joined }}}}"}}
    - {{name: asks, debug: , when: "{{{{ seen.stdout | same }}}}", ignore_errors: true}}
""")
    victim.safe(done)
    assert done.result("node1", "shows")["values"]["msg"].count(victim.template) == 3


def test_facts_of_a_module_name_no_settings_of_connections(
    victim: Victim,
    plugins: None,
) -> None:
    facts = victim.folder / "facts.json"
    facts.write_text(
        '{"ansible_connection": "local", "ansible_python_interpreter": "/bin/false",'
        ' "ansible_become": true, "mine": "{{ 7 * 7 }}"}'
    )
    done = victim.play(f"""
- hosts: node1
  gather_facts: false
  tasks:
    - {{name: tells, tells: {{file: "{facts}"}}}}
    - {{name: shows, debug: {{msg: "{{{{ mine }}}}"}}}}
    - {{name: reaches, ping: }}
""")
    victim.safe(done)
    assert done.result("node1", "shows")["values"]["msg"] == "{{ 7 * 7 }}"
    warning = " ".join(done.result("node1", "tells")["values"]["warnings"])
    for name in ("ansible_connection", "ansible_python_interpreter", "ansible_become"):
        assert name in warning


def test_what_no_log_hides_of_a_module_is_written_nowhere(stage: Stage, plugins: None) -> None:
    done = stage.play("""
- hosts: node1
  gather_facts: false
  tasks:
    - {name: hidden, tells: {token: "tok-91827"}, no_log: true, register: told}
    - {name: still there, assert: {that: told.token == 'tok-' ~ (91826 + 1)}}
""")
    assert done.code == 0, done.text
    assert "tok-91827" not in done.text
    for path in stage.state.rglob("*"):
        assert not path.is_file() or b"tok-91827" not in path.read_bytes(), path
