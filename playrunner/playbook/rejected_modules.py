"""Modules that `plugin_filters_cfg` of ansible.cfg forbids: a playbook with one is refused."""

from __future__ import annotations

from functools import cache
from typing import Any

from playrunner.config.ansible_config import ansible_config
from playrunner.errors import BadInput, Place
from playrunner.text.documents import Located, read_yaml

SYSTEM_FILE = "/etc/ansible/plugin_filters.yml"
_WORDS = ("module_rejectlist", "module_blacklist")  # the second is its former name
_PREFIXES = ("ansible.builtin.", "ansible.legacy.")


def is_rejected(name: str) -> bool:
    for prefix in _PREFIXES:
        name = name.removeprefix(prefix)
    return name in _rejected()


@cache
def _rejected() -> frozenset[str]:
    from pathlib import Path

    config = ansible_config()
    path = Path(config.text("plugin_filters_cfg", SYSTEM_FILE))
    if not path.is_file():
        return frozenset()
    content = read_yaml(path)
    if content is None:
        return frozenset()
    if not isinstance(content, Located) or str(content.get("filter_version")) != "1.0":
        raise BadInput(
            "a file of plugin filters is a mapping with filter_version: 1.0", Place(str(path), 1)
        )
    names: Any = next((content[word] for word in _WORDS if content.get(word)), [])
    if not isinstance(names, list):
        raise BadInput("module_rejectlist is a list of modules", content.place())
    rejected = frozenset(map(str, names))
    if "stat" in rejected:
        raise BadInput(
            f"The stat module was specified in the module reject list file, {content.place()}, but"
            " Ansible will not function without the stat module.  Please remove stat from the"
            " reject list."
        )
    return rejected
