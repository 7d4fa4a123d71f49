"""Variables and groups made of expressions over a host's variables: the options compose, groups and
keyed_groups, which all inventory plugins share."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from playrunner.config.ansible_config import ansible_config
from playrunner.errors import BadInput, Place, PlayrunnerError
from playrunner.frozen import frozen
from playrunner.inventory.graph import Graph
from playrunner.inventory.group_names import safe_group_name
from playrunner.inventory.plugin_sources import PluginSource
from playrunner.inventory.value import Value
from playrunner.inventory_plugins.host_scope import HostScope
from playrunner.inventory_plugins.plugin_options import PluginOptions
from playrunner.text.written import authored
from playrunner.variables.filters.undefined import is_missing
from playrunner.variables.host_memory import OMIT
from playrunner.variables.templating import default_templar

CONSTRUCTED_OPTIONS = (
    "compose",
    "groups",
    "keyed_groups",
    "leading_separator",
    "strict",
    "use_extra_vars",
)
KEYED_GROUP_OPTIONS = (
    "default_value",
    "key",
    "parent_group",
    "prefix",
    "separator",
    "trailing_separator",
)


def constructor_of(
    options: PluginOptions,
    source: PluginSource,
    group_name: Callable[[str], str] = safe_group_name,
) -> Constructor:
    """What the options of a source say about variables and groups."""
    for name in ("strict", "leading_separator"):
        options.flag(name)  # refused before the first host is looked at
    configured = ansible_config().flag("inventory_use_extra_vars")
    uses_extra_vars = options.flag("use_extra_vars", configured)
    extra_vars = source.context.extra_vars() if uses_extra_vars else {}
    return Constructor(options, source.graph, extra_vars, group_name)


@frozen
class Constructor:
    """The options of one inventory file, applied host by host."""

    options: PluginOptions
    graph: Graph
    extra_vars: Mapping[str, Any]  # seen by compose and keyed_groups, as in Ansible
    group_name: Callable[[str], str] = safe_group_name

    def add_to_groups(self, host: str, scope: HostScope) -> None:
        """The groups of `groups` and `keyed_groups`; the scope has what was composed."""
        self._add_to_conditional_groups(host, scope)
        self._add_to_keyed_groups(host, self._with_extra_vars(scope))

    def compose(self, host: str, scope: HostScope) -> None:
        """Set the variables of `compose`."""
        scope = self._with_extra_vars(scope)
        expressions = self.options.mapping("compose")
        for name, expression in expressions.items():
            place = self.options.place_in("compose", name)
            try:
                value = self._value(expression, scope)
            except PlayrunnerError as error:
                self._fail(f"{name} of host {host}: {error}", place)
                continue
            self.graph.set_host_values(host, {name: Value(value, place, f"host {host}")})

    def _add_to_conditional_groups(self, host: str, scope: HostScope) -> None:
        for name, condition in self.options.mapping("groups").items():
            try:
                holds = self._holds(condition, scope)
            except PlayrunnerError as error:
                self._fail(
                    f"group {name} for host {host}: {error}", self.options.place_in("groups", name)
                )
                continue
            if holds:
                self._add_to_group(host, str(name), self.options.place_in("groups", name))

    def _add_to_keyed_groups(self, host: str, scope: HostScope) -> None:
        for rule in self.options.mappings("keyed_groups", KEYED_GROUP_OPTIONS):
            place = self.options.place_of(rule)
            try:
                key = self._value(rule.get("key"), scope)
            except PlayrunnerError as error:
                self._fail(f"the group of host {host} by {rule.get('key')!r}: {error}", place)
                continue
            default = rule.get("default_value")
            if not key and not (_is_empty(key) and default is not None):
                if key not in ([], {}):
                    self._fail(f"the key {rule.get('key')!r} of host {host} is empty", place)
                continue
            try:
                parent = default_templar.render(rule.get("parent_group"), scope)
            except PlayrunnerError as error:
                self._fail(f"the parent group for host {host}: {error}", place)
                continue
            for name in self._keyed_names(key, rule, place):
                group = self._add_to_group(host, name, place)
                if parent and parent is not OMIT:
                    above = self.group_name(str(parent))
                    self.graph.add_group(above)
                    self.graph.add_child(above, group, place)

    def _keyed_names(self, key: Any, rule: Mapping[str, Any], place: Place) -> list[str]:
        prefix, separator = rule.get("prefix", ""), rule.get("separator", "_")
        lead = separator
        if prefix == "" and not self.options.flag("leading_separator", default=True):
            lead = ""
        return [f"{prefix}{lead}{name}" for name in _names_of(key, rule, separator, place)]

    def _add_to_group(self, host: str, name: str, place: Place) -> str:
        group = self.group_name(name)
        self.graph.add_group(group)
        self.graph.add_host(host, group, place)
        return group

    def _holds(self, condition: Any, scope: HostScope) -> bool:
        if not isinstance(condition, (str, bool)):
            raise BadInput(f"a condition is an expression, not {condition!r:.60}")
        return default_templar.truth(condition, scope)

    def _value(self, expression: Any, scope: HostScope) -> Any:
        """The value of an expression, marked as authored where nothing but authored text went
        into it."""
        if not isinstance(expression, str):
            raise BadInput(f"an expression is text, not {expression!r:.60}")
        if expression.lstrip().startswith("{{"):
            raise BadInput("an expression stands here without {{ }}")
        traced = scope.traced()
        value = default_templar.evaluate(expression, traced)
        if is_missing(value):
            value._fail_with_undefined_error()
        if value is OMIT:
            raise BadInput("the value is omitted")
        return value if traced.foreign else authored(value)

    def _with_extra_vars(self, scope: HostScope) -> HostScope:
        if not self.extra_vars:
            return scope
        return HostScope({**scope.variables, **self.extra_vars}, scope.folder, scope.own_names)

    def _fail(self, message: str, place: Place) -> None:
        """An expression that fails is skipped, since values may be missing, unless `strict`."""
        if self.options.flag("strict"):
            raise BadInput(message, place)


def _names_of(key: Any, rule: Mapping[str, Any], separator: str, place: Place) -> list[str]:
    """The last part of the names of the groups that a key stands for."""
    default, trailing = rule.get("default_value"), rule.get("trailing_separator")
    if default is not None and trailing is not None:
        raise BadInput("a keyed group takes default_value or trailing_separator, not both", place)

    def named(value: Any) -> str:
        return str(default if _is_empty(value) and default is not None else value)

    if isinstance(key, dict):
        return [
            str(name)
            if _is_empty(value) and default is None and trailing is False
            else f"{name}{separator}{named(value)}"
            for name, value in key.items()
        ]
    if isinstance(key, list):
        return [named(value) for value in key]
    if isinstance(key, str) or _is_empty(key):
        return [named(key)]
    raise BadInput(
        f"the key {rule.get('key')!r} of a keyed group gives {key!r:.60}; it must be text, a list"
        " or a mapping: add `| string`",
        place,
    )


def _is_empty(value: Any) -> bool:
    return value is None or (isinstance(value, str) and value == "")
