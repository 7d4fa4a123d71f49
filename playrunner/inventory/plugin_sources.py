"""Inventory files that name a plugin: our own plugins first, then those written for Ansible."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from dataclasses import field
from pathlib import Path
from typing import Any

from playrunner.errors import Place
from playrunner.frozen import frozen, mutable
from playrunner.inventory.graph import Graph
from playrunner.inventory.script_source import add_groups
from playrunner.plugins.inventory import read_with_plugin
from playrunner.text.documents import Located

# By import path: a plugin uses templates and clouds, which are layers above this one.
_ROOM = "playrunner.inventory_plugins"
OWN_PLUGINS = {
    "constructed": f"{_ROOM}.constructed",
    "ansible.builtin.constructed": f"{_ROOM}.constructed",
    "ansible.legacy.constructed": f"{_ROOM}.constructed",
    "aws_ec2": f"{_ROOM}.aws_ec2",
    "amazon.aws.aws_ec2": f"{_ROOM}.aws_ec2",
    "gcp_compute": f"{_ROOM}.gcp_compute",
    "google.cloud.gcp_compute": f"{_ROOM}.gcp_compute",
}


@mutable
class SourceContext:
    """What a plugin may use beside its own file: the folders of the sources read before it, and
    the variables of the command line."""

    folders: dict[Path, None] = field(default_factory=dict)
    extra_vars: Callable[[], Mapping[str, Any]] = dict


@frozen
class PluginSource:
    """An inventory file that names a plugin, and the graph that the plugin adds to."""

    options: Located
    path: Path
    graph: Graph
    context: SourceContext

    def place(self, option: str = "plugin") -> Place:
        return self.options.place(option)


def add_plugin_source(source: PluginSource) -> None:
    name = str(source.options["plugin"])
    if name in OWN_PLUGINS:
        importlib.import_module(OWN_PLUGINS[name]).add_hosts(source)
        return
    # What it finds is an API's word: data, not marked as written by the author
    add_groups(read_with_plugin(name, source.path, source.place()), source.place(), source.graph)
