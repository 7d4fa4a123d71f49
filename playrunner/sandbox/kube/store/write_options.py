"""WriteOptions: how a write is meant: by whom, in what manner, and whether for real."""

from __future__ import annotations

from dataclasses import dataclass, field

from playrunner.sandbox.kube.schema.kinds import Kind
from playrunner.sandbox.kube.store.cluster import now
from playrunner.sandbox.kube.store.ownership import Owner


@dataclass(frozen=True)
class WriteOptions:
    """How a write is meant."""

    manager: str = "sandbox"
    operation: str = "Update"
    subresource: str = ""
    patch: bool = False  # JSON, merge or strategic; an apply says so in its operation
    dry_run: bool = False
    field_validation: str = "Warn"
    owned: bool = False  # the managed fields are already right: server-side apply has set them
    warnings: list[str] = field(default_factory=list)

    def owner(self, kind: Kind) -> Owner:
        return Owner(
            self.manager, self.operation, kind.api_version, self.subresource, now(), frozenset()
        )
