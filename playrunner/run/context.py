"""Context: what a module that runs on the controller may use."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from playrunner.errors import NotYet, RunRefused, UndefinedVariable
from playrunner.frozen import mutable
from playrunner.hostside.state import Change
from playrunner.inventory.inventory import Inventory
from playrunner.run.accounts import CloudAccounts
from playrunner.ssh.connection import Channel, Connection
from playrunner.text.written import Written
from playrunner.variables.scope import Scope

if TYPE_CHECKING:
    from playrunner.aws.client import Aws
    from playrunner.cloud.owner import Owner
    from playrunner.gcp.client import Gcp
    from playrunner.kube.client.client import Kube

T = TypeVar("T")


@mutable
class Context:
    """One step on one host, seen from the controller."""

    host: str
    scope: Scope
    inventory: Inventory
    check: bool
    diff: bool
    connection: Callable[[], Connection]  # opened when first called
    reset_connection: Callable[[], None]
    # Starts a command line on the host as the step's user, and gives its standard error
    start: Callable[[str], tuple[Channel, Callable[[], str]]]
    # Runs another module on the step's host: its values and body
    on_host: Callable[[str, dict[str, Any]], tuple[dict[str, Any], bytes]]
    sleep: Callable[[float], None]
    show: Callable[[str], None]
    ask: Callable[[str, bool], str]
    # Shows a text and gives what a person types; None where no one can
    pause: Callable[[str, bool, float | None], str | None]
    clouds: CloudAccounts
    subject: str  # the step's title, as in the ledger
    progress: Callable[[str], None]  # what a service is doing while a step waits for it
    warnings: list[str] = field(default_factory=list)
    # What the step asked of a cloud so far, oldest first
    applied: list[Change] = field(default_factory=list)
    only_shows: bool = False  # nothing will be changed: what may not be seen is left out
    keep: bool = False  # the step's `keep`: what it makes says so on itself
    _aws: Aws | None = None
    _gcp: Gcp | None = None
    _kube: Kube | None = None
    _owner: Owner | None = None
    _once: dict[str, Any] = field(default_factory=dict)

    @property
    def aws(self) -> Aws:
        # Not a cached_property: before Python 3.12 all instances share its lock, and looking up an
        # account may take long.
        if self._aws is None:
            from playrunner.aws.client import Aws

            self._aws = Aws(
                self.clouds.aws(self.scope), self.subject, self.clouds.call_log, self.sleep
            )
            account = self._aws.account_session
            self._aws.stack = self._stack(account.settings.region or account.region)
        return self._aws

    @property
    def gcp(self) -> Gcp:
        if self._gcp is None:
            from playrunner.gcp.client import Gcp

            self._gcp = Gcp(
                self.clouds.gcp(self.scope), self.subject, self.clouds.call_log, self.sleep
            )
            self._gcp.stack = self._stack("gcp")  # its paths say the rest
        return self._gcp

    @property
    def kube(self) -> Kube:
        if self._kube is None:
            from playrunner.kube.client.client import Kube

            self._kube = Kube(
                self.clouds.kube(self.scope), self.subject, self.clouds.call_log, self.sleep
            )
        return self._kube

    @property
    def owner(self) -> Owner:
        if self._owner is None:
            self._owner = self.clouds.owner(self.scope)
        return replace(self._owner, keep=self.keep)  # which is known only later

    def claim(self, looked: float) -> bool:
        """Take the stack's lease before a change; whether it was taken after this time."""
        return self.clouds.claim(self.scope, self.owner.cluster, self.sleep, looked)

    @property
    def last_change(self) -> str:
        return self._aws.last_change if self._aws is not None else ""

    def created_at(self) -> float | None:
        """When an earlier run asked for the step's thing, where that was lately."""
        stack = self._aws.stack if self._aws is not None else ""
        return self.clouds.call_log.created_at(self.subject, stack)

    def _stack(self, place: str) -> str:
        """The cluster and where it is; empty where none is set, which only looking does without."""
        try:
            return f"{self.owner.cluster}@{place}"
        except RunRefused:
            return ""

    def refresh(self) -> None:
        """Forget what the clients have read so far."""
        for client in (self._aws, self._gcp, self._kube):
            if client is not None:
                client.refresh()

    def truth(self, condition: Any) -> bool:
        return self.scope.run_vars.templar.truth(condition, self.scope)

    def evaluate(self, expression: str) -> Any:
        """The value of an expression: a module's own, or an argument listed in `raw`."""
        text = Written(expression) if type(expression) is str else expression
        return self.scope.run_vars.templar.evaluate(text, self.scope)

    def render(self, value: Any) -> Any:
        return self.scope.run_vars.templar.render(value, self.scope)

    def render_file(self, path: Path, **settings: Any) -> str:
        return self.scope.run_vars.templar.render_file(
            path.read_text(), self.scope, name=str(path), **settings
        )

    def find(self, path: str, folder: str) -> Path:
        return self.scope.find(path, folder)

    def once(self, name: str, make: Callable[[], T]) -> T:
        """A value that the step works out once and keeps, such as a parsed file."""
        if name not in self._once:
            self._once[name] = make()
        value: T = self._once[name]
        return value

    def told_warnings(self) -> list[str]:
        """The step's warnings, with those of a cluster's API that no step has told yet."""
        taken = self._kube.cluster.take_warnings() if self._kube is not None else ()
        return [*self.warnings, *(f"the API server warns: {text}" for text in taken)]

    def warn(self, text: str) -> None:
        self.warnings.append(text)

    def known(self, name: str) -> Mapping[str, Any] | None:
        """A variable's value, or None when nothing defines it."""
        try:
            value = self.scope.lookup(name)
        except (NotYet, UndefinedVariable):
            return None
        return value if isinstance(value, Mapping) else None
