"""Context: all that a module which runs on the controller may use."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from playrunner.aws.client import Aws
from playrunner.cloud.owner import Owner
from playrunner.errors import NotYet, UndefinedVariable
from playrunner.inventory.inventory import Inventory
from playrunner.run.accounts import Clouds
from playrunner.ssh.connection import Connection
from playrunner.text.written import Written
from playrunner.variables.scope import Scope

if TYPE_CHECKING:
    from playrunner.gcp.client import Gcp
    from playrunner.kube.client.client import Kube


@dataclass
class Context:
    """One step on one host, seen from the controller."""

    host: str
    scope: Scope
    inventory: Inventory
    check: bool
    diff: bool
    connection: Callable[[], Connection]  # opened when first asked for
    reset_connection: Callable[[], None]
    on_host: Callable[
        [str, dict[str, Any]], tuple[dict[str, Any], bytes]
    ]  # another module, on the step's host
    sleep: Callable[[float], None]
    show: Callable[[str], None]
    ask: Callable[[str, bool], str]
    clouds: Clouds
    subject: str  # what the step is about, in the ledger's words
    progress: Callable[[str], None]  # what a service is doing while a step waits for it
    warnings: list[str] = field(default_factory=list)
    _aws: Aws | None = None
    _gcp: Gcp | None = None
    _kube: Kube | None = None
    _owner: Owner | None = None

    @property
    def aws(self) -> Aws:
        # Not a cached_property: before Python 3.12 all instances share its lock, and finding an
        # account out may have to wait.
        if self._aws is None:
            self._aws = Aws(
                self.clouds.aws(self.scope), self.subject, self.clouds.intents, self.sleep
            )
        return self._aws

    @property
    def gcp(self) -> Gcp:
        if self._gcp is None:
            from playrunner.gcp.client import Gcp

            self._gcp = Gcp(
                self.clouds.gcp(self.scope), self.subject, self.clouds.intents, self.sleep
            )
        return self._gcp

    @property
    def kube(self) -> Kube:
        if self._kube is None:
            from playrunner.kube.client.client import Kube

            self._kube = Kube(
                self.clouds.kube(self.scope), self.subject, self.clouds.intents, self.sleep
            )
        return self._kube

    @property
    def owner(self) -> Owner:
        if self._owner is None:
            self._owner = self.clouds.owner(self.scope)
        return self._owner

    def refresh(self) -> None:
        """What was read before is not good enough any more."""
        for one in (self._aws, self._gcp, self._kube):
            if one is not None:
                one.refresh()

    def truth(self, condition: Any) -> bool:
        return self.scope.world.templar.truth(condition, self.scope)

    def evaluate(self, expression: str) -> Any:
        """The value of an expression: a module's own, or one that `raw` handed to it as the
        playbook has it."""
        own = Written(expression) if type(expression) is str else expression
        return self.scope.world.templar.evaluate(own, self.scope)

    def render(self, value: Any) -> Any:
        return self.scope.world.templar.render(value, self.scope)

    def render_file(self, path: Path, **settings: Any) -> str:
        return self.scope.world.templar.render_file(
            path.read_text(), self.scope, name=str(path), **settings
        )

    def find(self, path: str, folder: str) -> Path:
        return self.scope.find(path, folder)

    def warn(self, text: str) -> None:
        self.warnings.append(text)

    def known(self, name: str) -> Mapping[str, Any] | None:
        """A variable's value, or None when nothing defines it."""
        try:
            value = self.scope.lookup(name)
        except (NotYet, UndefinedVariable):
            return None
        return value if isinstance(value, Mapping) else None
