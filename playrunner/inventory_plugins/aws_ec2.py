"""amazon.aws.aws_ec2: the instances of an AWS account as hosts."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from playrunner.errors import BadInput
from playrunner.hostside.module import Failed
from playrunner.inventory.group_names import safe_group_name
from playrunner.inventory.plugin_sources import PluginSource
from playrunner.inventory.script_source import add_groups
from playrunner.inventory_plugins.cloud_hosts import add_cloud_host, rendered_options
from playrunner.inventory_plugins.construct import CONSTRUCTED_OPTIONS, constructor_of
from playrunner.inventory_plugins.ec2_account import ACCOUNT_OPTIONS, Ec2Account
from playrunner.inventory_plugins.ec2_names import HostNames, tags_of
from playrunner.inventory_plugins.plugin_options import CACHE_OPTIONS, PluginOptions
from playrunner.plugins.inventory import read_with_plugin

GROUP = "aws_ec2"
OPTIONS = (
    "allow_duplicated_hosts",
    "exclude_filters",
    "filters",
    "hostnames",
    "hostvars_prefix",
    "hostvars_suffix",
    "include_filters",
    "regions",
    "strict_permissions",
    "use_contrib_script_compatible_ec2_tag_keys",
    "use_contrib_script_compatible_sanitization",
)
# Of other services, which our client does not ask: the collection's own plugin does.
_OF_THE_COLLECTION = ("use_ssm_inventory", "route53_enabled")
_MORE = (*_OF_THE_COLLECTION, "route53_excluded_zones", "route53_hostnames")
_NOT_IN_OLD_NAMES = re.compile(r"[^A-Za-z0-9_-]")


def add_hosts(source: PluginSource) -> None:
    known = (*OPTIONS, *_MORE, *ACCOUNT_OPTIONS, *CONSTRUCTED_OPTIONS, *CACHE_OPTIONS)
    options = rendered_options(PluginOptions(source.options, known), source)
    if any(options.flag(name) for name in _OF_THE_COLLECTION):
        answer = read_with_plugin("amazon.aws.aws_ec2", source.path, source.place())
        add_groups(answer, source.place(), source.graph)
        return
    compatible = options.flag("use_contrib_script_compatible_sanitization")
    group_name = _old_group_name if compatible else safe_group_name
    names = HostNames(options.items("hostnames"), source.path.absolute().parent, group_name)
    constructor = constructor_of(options, source, group_name)
    source.graph.add_group(GROUP)
    source.graph.add_child("all", GROUP, source.place())
    several = options.flag("allow_duplicated_hosts")
    for instance in _instances(options, source):
        variables = _variables(instance, options)
        for name in names.all(instance) if several else names.first(instance):
            add_cloud_host(name, GROUP, variables, variables, constructor, source)


def _instances(options: PluginOptions, source: PluginSource) -> list[Any]:
    """The instances asked for, by their ids: those of any of the filters that are to be included
    and of none that are to be excluded."""
    wanted = [
        *([_filter(options.mapping("filters"))] if options.get("filters") else []),
        *(_filter(each) for each in options.items("include_filters")),
    ] or [{}]
    excluded = [_filter(each) for each in options.items("exclude_filters")]
    try:
        account = Ec2Account(options)
        regions = account.regions()
        without = {
            instance["InstanceId"]
            for each in excluded
            for instance in account.instances(regions, each)
        }
        instances = {
            instance["InstanceId"]: instance
            for each in wanted
            for instance in account.instances(regions, each)
            if instance["InstanceId"] not in without
        }
    except Failed as refusal:
        raise BadInput(f"the instances cannot be listed: {refusal}", source.place()) from None
    return [instances[name] for name in sorted(instances)]


def _filter(written: Any) -> dict[str, list[str]]:
    """EC2's filters take lists of texts."""
    if not isinstance(written, dict):
        raise BadInput(
            f"a filter is a mapping of EC2's filter names to values, not {written!r:.60}"
        )
    return {
        str(name): [
            _filter_text(value) for value in (values if isinstance(values, list) else [values])
        ]
        for name, values in written.items()
    }


def _filter_text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _variables(instance: Mapping[str, Any], options: PluginOptions) -> dict[str, Any]:
    """The fields of the answer under names with underscores; the keys of tags stay as they are."""
    variables: dict[str, Any] = _snake(
        {name: value for name, value in instance.items() if name != "Tags"}
    )
    tags = tags_of(instance)
    variables["tags"] = tags
    placement = variables.setdefault("placement", {})
    placement["region"] = str(placement.get("availability_zone", ""))[:-1]
    if options.flag("use_contrib_script_compatible_ec2_tag_keys"):
        variables |= {f"ec2_tag_{name}": value for name, value in tags.items()}
    prefix, suffix = options.text("hostvars_prefix"), options.text("hostvars_suffix")
    return {f"{prefix}{name}{suffix}": value for name, value in variables.items()}


def _snake(value: Any) -> Any:
    if isinstance(value, dict):
        return {_snake_name(str(name)): _snake(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [_snake(inner) for inner in value]
    return value


def _snake_name(name: str) -> str:
    """InstanceId as instance_id; an acronym is one word, also in the plural (ARNs)."""
    name = re.sub(r"([A-Z]{3,})s$", lambda plural: f"_{plural[1].lower()}s", name).lstrip("_")
    words = re.sub(r"(?<=[^_])([A-Z][a-z]+)", r"_\1", name)
    return re.sub(r"(?<=[a-z0-9])([A-Z])", r"_\1", words).lower()


def _old_group_name(name: str) -> str:
    return _NOT_IN_OLD_NAMES.sub("_", name)
