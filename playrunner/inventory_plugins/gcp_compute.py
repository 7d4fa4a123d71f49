"""google.cloud.gcp_compute: the instances of Google Cloud projects as hosts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from playrunner.errors import BadInput
from playrunner.hostside.module import Failed
from playrunner.inventory.group_names import safe_group_name
from playrunner.inventory.plugin_sources import PluginSource
from playrunner.inventory_plugins.cloud_hosts import add_cloud_host, rendered_options
from playrunner.inventory_plugins.construct import CONSTRUCTED_OPTIONS, constructor_of
from playrunner.inventory_plugins.gcp_projects import ACCOUNT_OPTIONS, GcpProjects
from playrunner.inventory_plugins.plugin_options import CACHE_OPTIONS, PluginOptions

OPTIONS = (
    "filters",
    "hostnames",
    "name_suffix",
    "retrieve_image_info",
    "use_contrib_script_compatible_sanitization",
    "vars_prefix",
    "zones",
)
DEFAULT_NAMES = ("public_ip", "private_ip", "name")


def add_hosts(source: PluginSource) -> None:
    known = (*OPTIONS, *ACCOUNT_OPTIONS, *CONSTRUCTED_OPTIONS, *CACHE_OPTIONS)
    options = rendered_options(PluginOptions(source.options, known), source)
    compatible = options.flag("use_contrib_script_compatible_sanitization")
    # As in the collection, `strict` has no effect: a missing value is always skipped
    constructor = constructor_of(
        options.changed(lambda name, value: False if name == "strict" else value),
        source,
        _unchanged if compatible else safe_group_name,
    )
    prefix = options.text("vars_prefix")
    for instance in _instances(options, source):
        own_variables = {f"{prefix}{name}": value for name, value in instance.items()}
        name = _host_name(instance, options)
        add_cloud_host(name, "all", instance, own_variables, constructor, source)


def _instances(options: PluginOptions, source: PluginSource) -> list[dict[str, Any]]:
    zones = options.texts("zones")
    descriptions: list[dict[str, Any]] = []
    try:
        account = GcpProjects(options)
        for project in account.names():
            images = account.images(project) if options.flag("retrieve_image_info") else {}
            for zone, instances in account.instances(project, _query(options)).items():
                if not zones or zone in zones:
                    descriptions += [
                        _described(instance, project, images) for instance in instances
                    ]
    except Failed as refusal:
        raise BadInput(f"the instances cannot be listed: {refusal}", source.place()) from None
    except BadInput as error:
        raise error if error.place else BadInput(error.message, source.place()) from None
    return descriptions


def _query(options: PluginOptions) -> str:
    """Several filters must all hold."""
    filters = [str(each) for each in options.items("filters")]
    if len(filters) == 1:
        return filters[0]
    return " ".join(
        text if text.startswith("(") or text.endswith(")") else f"({text})" for text in filters
    )


def _described(
    instance: Mapping[str, Any], project: str, images: Mapping[str, str]
) -> dict[str, Any]:
    """An instance with short names beside the addresses that the API has in their place."""
    described = dict(instance)
    for name in ("zone", "machineType"):
        if name in described:
            described[f"{name}_selflink"] = described[name]
            described[name] = str(described[name]).split("/")[-1]
    if "networkInterfaces" in described:
        described["networkInterfaces"] = [
            {
                **interface,
                **{
                    name: _network(str(interface[name]))
                    for name in ("network", "subnetwork")
                    if name in interface
                },
            }
            for interface in described["networkInterfaces"]
        ]
    if "metadata" in described:
        items = described["metadata"].get("items") or []
        described["metadata"] = {pair["key"]: pair.get("value") for pair in items}
    boot: dict[str, Any] = next(
        (disk for disk in described.get("disks") or [] if disk.get("boot")), {}
    )
    return {
        **described,
        "project": project,
        "image": images.get(str(boot.get("source"))) if images else None,
    }


def _network(address: str) -> dict[str, str]:
    parts = address.split("/")
    region = parts[parts.index("regions") + 1] if "regions" in parts[:-1] else "global"
    return {"region": region, "name": parts[-1], "selfLink": address}


def _host_name(instance: Mapping[str, Any], options: PluginOptions) -> str:
    preferences = options.texts("hostnames") or list(DEFAULT_NAMES)
    for preference in preferences:
        name = _name_by(preference, instance, options)
        if name:
            return str(name)
    raise BadInput(
        f"the instance {instance.get('name')!r:.80} has none of the names"
        f" {', '.join(preferences)}; add name to hostnames",
        options.place("hostnames"),
    )


def _name_by(preference: str, instance: Mapping[str, Any], options: PluginOptions) -> Any:
    interfaces = instance.get("networkInterfaces") or []
    own_name = f"{instance.get('name', '')}{options.text('name_suffix')}"
    if preference.startswith("labels."):
        return (instance.get("labels") or {}).get(preference.removeprefix("labels."))
    if preference == "public_ip":
        return next(
            (
                access["natIP"]
                for interface in interfaces
                for access in interface.get("accessConfigs") or []
                if "natIP" in access
            ),
            None,
        )
    if preference == "private_ip":
        return next((each["networkIP"] for each in interfaces if "networkIP" in each), None)
    if preference == "hostname":
        return instance.get("hostname", own_name)
    if preference == "name":
        return own_name
    raise BadInput(
        f"hostnames cannot have {preference!r:.60}; it takes public_ip, private_ip, name, hostname"
        " and labels.NAME",
        options.place("hostnames"),
    )


def _unchanged(name: str) -> str:
    return name
