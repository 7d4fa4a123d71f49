"""Which project and zone, and how to come in; empty fields are google-auth's own to find."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from playrunner.frozen import frozen


@frozen
class GcpSettings:
    """From an inventory: gcp_project, gcp_zone, ..."""

    project: str = ""
    zone: str = ""  # where clusters and disks are by default
    region: str = ""  # by default the zone's
    # A service account's, instead of application-default ones; keys have no place in an inventory
    credentials_file: str = ""
    impersonate: str = ""  # the service account in whose name to work
    endpoint_url: str = ""  # one address for all services, instead of Google's

    @property
    def home_region(self) -> str:
        return self.region or self.zone.rpartition("-")[0]


def settings_of(lookup: Callable[[str], Any]) -> GcpSettings:
    return GcpSettings(
        **{name: str(lookup(f"gcp_{name}") or "") for name in GcpSettings.__dataclass_fields__}
    )
