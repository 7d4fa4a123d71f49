"""CloudAccounts: the accounts a run works in and the tags it sets, from inventory variables."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from playrunner.cloud.call_log import CallLog
from playrunner.errors import Interrupted, LeaseNotHeld, RunRefused
from playrunner.frozen import mutable
from playrunner.record.ledger import Ledger
from playrunner.variables.origins import setting
from playrunner.variables.scope import Scope
from playrunner.variables.templating import MISSING

if TYPE_CHECKING:
    from playrunner.aws.client import Account, AwsSettings
    from playrunner.aws.lease import Lease
    from playrunner.cloud.owner import Owner
    from playrunner.gcp.project import Project
    from playrunner.gcp.settings import GcpSettings
    from playrunner.kube.client.client import Cluster
    from playrunner.kube.client.config import KubeSettings


@mutable
class _HeldLease:
    """A stack's lease in this run."""

    lease: Lease
    since: float = 0.0  # when it was taken; 0 while it is not
    refusal: LeaseNotHeld | None = None


class CloudAccounts:
    """One run's accounts, each opened when it is first needed."""

    def __init__(
        self, ledger: Ledger, note: Callable[[str], None] = lambda text: None, wait: bool = True
    ) -> None:
        self.call_log = CallLog(ledger)
        self._note, self._wait, self._command = note, wait, ledger.command
        self._leases: dict[tuple[AwsSettings, str], _HeldLease] = {}
        self._lease_lock = threading.Lock()
        self._ended = False
        self._run = ledger.run_id
        self._accounts: dict[AwsSettings, Account] = {}
        self._projects: dict[GcpSettings, Project] = {}
        self._clusters: dict[KubeSettings, Cluster] = {}
        self._lock = threading.Lock()

    def aws(self, scope: Scope) -> Account:
        from playrunner.aws.client import Account, settings_of

        settings = settings_of(lambda name: _value(scope, name))
        with self._lock:
            return self._accounts.setdefault(settings, Account(settings))

    def wait_for_turn(self, scope: Scope, cluster: str, sleep: Callable[[float], None]) -> None:
        """Before the first look at a stack: until no other run changes it. Once for all steps."""
        self._lease(scope, cluster, sleep)

    def claim(
        self, scope: Scope, cluster: str, sleep: Callable[[float], None], looked: float = 0.0
    ) -> bool:
        """Take the lease of a stack, which the first change needs; whether that was done only after
        the stack was looked at, so that it may have changed since."""
        held = self._lease(scope, cluster, sleep)
        if held is None:
            return False
        with self._lease_lock:
            if not held.since:
                self._remembering(held, lambda: held.lease.acquire(sleep, self._note, self._wait))
                held.since = time.monotonic()
                self._guard(self.aws(scope), held.lease)
        return held.since > looked

    def _lease(
        self, scope: Scope, cluster: str, sleep: Callable[[float], None]
    ) -> _HeldLease | None:
        if str(_value(scope, "aws_lease")).lower() in ("false", "no", "off"):
            return None
        account = self.aws(scope)
        with self._lease_lock:
            held = self._leases.get((account.settings, cluster))
            if held is None:
                from playrunner.aws.lease import Lease

                held = _HeldLease(Lease(account, cluster, self._command))
                self._leases[account.settings, cluster] = held
                self._remembering(
                    held, lambda: held.lease.wait_until_free(sleep, self._note, self._wait)
                )
            if held.refusal:
                raise held.refusal
        return held

    def _remembering(self, held: _HeldLease, ask: Callable[[], None]) -> None:
        """What refuses one step refuses all."""
        if self._ended:
            raise Interrupted("the run has ended")
        try:
            ask()
        except LeaseNotHeld as refusal:
            held.refusal = refusal
            raise

    def _guard(self, account: Account, lease: Lease) -> None:
        """Every change in the account from now on makes sure that the lease is still held."""
        others = account.confirm_lease  # of other stacks in this account

        def confirm() -> None:
            others()
            lease.confirm()

        account.confirm_lease = confirm

    def release(self) -> None:
        """Give back every lease that this run holds; it gets no more of them."""
        self._ended = True
        for held in list(self._leases.values()):
            if held.since:
                held.lease.release(self._note)

    def gcp(self, scope: Scope) -> Project:
        from playrunner.gcp.project import Project
        from playrunner.gcp.settings import settings_of

        settings = settings_of(lambda name: _value(scope, name))
        with self._lock:
            return self._projects.setdefault(settings, Project(settings))

    def kube(self, scope: Scope) -> Cluster:
        from playrunner.kube.client.client import Cluster
        from playrunner.kube.client.config import open_transport, settings_of

        settings = settings_of(lambda name: _value(scope, name))
        with self._lock:
            return self._clusters.setdefault(
                settings, Cluster(lambda: open_transport(settings, scope))
            )

    def permissions_boundary(self, scope: Scope) -> str:
        """The ARN of the policy that bounds every role of an inventory; empty when none does."""
        return str(_value(scope, "aws_permissions_boundary"))

    def owner(self, scope: Scope) -> Owner:
        name = _value(scope, "cluster_name")
        if not name:
            raise RunRefused(
                "cluster_name is not set; every resource is tagged with it: set it in the"
                " inventory (all: vars:)"
            )
        from playrunner.cloud.owner import owner_of

        return owner_of(str(name), self._run, str(_value(scope, "ttl")))


def _value(scope: Scope, name: str) -> Any:
    value = setting(scope, name)
    return "" if value is MISSING or value is None else value
