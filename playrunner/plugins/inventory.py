"""Inventory plugins written for Ansible: what they find, in the form that scripts print."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

from playrunner import project
from playrunner.errors import BadInput, Place, PlayrunnerError
from playrunner.plugins import ansible_library, collections
from playrunner.plugins.values import as_data


def read_with_plugin(name: str, path: Path, place: Place) -> dict[str, Any]:
    """Groups with their hosts, children and variables, and `_meta` with the hosts' own."""
    if not ansible_library.is_installed():
        raise BadInput(
            f'the inventory plugin "{name}" needs ansible-core beside this program:'
            f" {project.install_extra('ansible')}",
            place,
        )
    full = collections.redirected("inventory", name) if collections.is_qualified(name) else name
    with ansible_library.lock():
        try:
            plugin: Any = ansible_library.loader("inventory").get(full)
            if plugin is None:
                raise BadInput(
                    f'there is no inventory plugin "{name}"; install its collection, or use an'
                    " executable script that answers --list with JSON",
                    place,
                )
            data = importlib.import_module("ansible.inventory.data").InventoryData()
            reader = ansible_library.data_loader(str(path.parent))
            if not plugin.verify_file(str(path.absolute())):
                raise BadInput(
                    f'the plugin "{name}" does not take a file of this name; its documentation says'
                    " how it must end",
                    place,
                )
            plugin.parse(data, reader, str(path.absolute()), cache=False)
            getattr(plugin, "update_cache_if_changed", _nothing)()
            data.reconcile_inventory()
        except PlayrunnerError:
            raise
        except Exception as error:  # Ansible's errors, and the plugin's own
            raise BadInput(f'the inventory plugin "{name}" failed: {error}', place) from None
    return _described(data)


def _described(data: Any) -> dict[str, Any]:
    groups: dict[str, Any] = {}
    for name, group in data.groups.items():
        groups[str(name)] = {
            "hosts": [str(host.name) for host in group.hosts],
            "children": [str(child.name) for child in group.child_groups],
            "vars": as_data(dict(group.vars)),
        }
    own = {
        str(name): _host_variables(as_data(dict(host.vars))) for name, host in data.hosts.items()
    }
    return {**groups, "_meta": {"hostvars": own}}


def _host_variables(values: dict[str, Any]) -> dict[str, Any]:
    return {
        name: value
        for name, value in values.items()
        if name
        not in ("inventory_hostname", "inventory_hostname_short", "inventory_file", "inventory_dir")
    }


def _nothing() -> None:
    """For a plugin without a cache."""
