"""Any text as an inventory, in YAML and INI: read, and every host's connection worked out, or
refused with file and line."""

from __future__ import annotations

import json
from pathlib import Path

from playrunner.commands.inventory_show import as_data, as_graph
from playrunner.errors import BadInput, PlayrunnerError
from playrunner.inventory.inventory import read_inventory
from playrunner.inventory.patterns import select
from playrunner.ssh.targets import target_of
from playrunner.variables.host_memory import RunVariables
from playrunner.variables.scope import Scope
from playrunner.variables.templating import Templar
from tests.support.fuzz.surface import as_bytes, fuzzed, scratch

REPOSITORY = Path(__file__).parents[2]
CONNECTED_YAML = """
all:
  vars:
    ansible_user: u
    ansible_ssh_common_args: -o ServerAliveInterval=5 -o ConnectTimeout=9 -J jump
  hosts:
    jump: {ansible_host: 192.0.2.1, ansible_port: 2222, ansible_ssh_common_args: ''}
    n[01:03]:
      {ansible_host: '192.0.2.{{ 7 }}', ansible_ssh_timeout: 5, ansible_become: true, via: jump}
    here: {ansible_connection: local, ansible_python_interpreter: auto}
  children:
    gpu:
      hosts: {n01: , n02: {x: [1, {y: 2}]}}
      vars: {ansible_group_priority: 5}
      children: {inner: {hosts: {n03: }}}
"""
CONNECTED_INI = """
jump ansible_host=192.0.2.1 ansible_port=2222 ansible_ssh_common_args=''
n[01:03] ansible_host=192.0.2.7 via=jump ansible_ssh_timeout=5 x="[1, {'y': 2}]"
here ansible_connection=local
[::1]:22
[gpu]
n01
n02:2022 # a comment
[gpu:vars]
ansible_group_priority=5
ansible_ssh_common_args=-o ServerAliveInterval=5 -o ConnectTimeout=9 -J jump -i ~/.ssh/key
[outer:children]
gpu
"""
SAMPLES = REPOSITORY / "tests" / "engine" / "inventories"
YAML_SEEDS = [
    CONNECTED_YAML,
    (SAMPLES / "cluster.yaml").read_text(),
    (SAMPLES / "mixed" / "10-base.yaml").read_text(),
    *(path.read_text() for path in sorted((REPOSITORY / "inventories").glob("*.yaml"))),
]
INI_SEEDS = [
    CONNECTED_INI,
    (SAMPLES / "cluster.ini").read_text(),
    (SAMPLES / "mixed" / "20-more.ini").read_text(),
]


@fuzzed("inventories_yaml", YAML_SEEDS, (PlayrunnerError,))
def test_any_yaml_inventory_is_read_or_refused_with_file_and_line(text: str) -> None:
    _read_all("inventory.yaml", text)


@fuzzed("inventories_ini", INI_SEEDS, (PlayrunnerError,), structured=False)
def test_any_ini_inventory_is_read_or_refused_with_file_and_line(text: str) -> None:
    _read_all("inventory.ini", text)


def _read_all(name: str, text: str) -> None:
    file = scratch(name)
    file.write_bytes(as_bytes(text))
    try:
        inventory = read_inventory([file])
        json.dumps(as_data(inventory))
        as_graph(inventory)
        run_vars = RunVariables(inventory, Templar(), {}, {})
        for host in select(inventory, "all:!bad")[:5]:
            target_of(Scope(run_vars, host))
    except BadInput as refused:
        place = refused.place
        assert place is not None, f"names no file: {refused}"
        whole_file = ("not UTF-8", "characters; split it")
        assert place.line or any(words in refused.message for words in whole_file), (
            f"names no line: {refused}"
        )
        raise
