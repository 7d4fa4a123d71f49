"""CloudAccounts: the accounts a run works in and the tags it sets, from inventory variables."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

from playrunner.aws.client import Account, AwsSettings, settings_of
from playrunner.cloud.call_log import CallLog
from playrunner.cloud.owner import Owner, owner_of
from playrunner.errors import RunRefused
from playrunner.record.ledger import Ledger
from playrunner.variables.origins import setting
from playrunner.variables.scope import Scope
from playrunner.variables.templating import MISSING

if TYPE_CHECKING:
    from playrunner.gcp.project import Project
    from playrunner.gcp.settings import GcpSettings
    from playrunner.kube.client.client import Cluster
    from playrunner.kube.client.config import KubeSettings


class CloudAccounts:
    """One run's accounts, each opened when it is first needed."""

    def __init__(self, ledger: Ledger) -> None:
        self.call_log = CallLog(ledger)
        self._run = ledger.run_id
        self._accounts: dict[AwsSettings, Account] = {}
        self._projects: dict[GcpSettings, Project] = {}
        self._clusters: dict[KubeSettings, Cluster] = {}
        self._lock = threading.Lock()

    def aws(self, scope: Scope) -> Account:
        settings = settings_of(lambda name: _value(scope, name))
        with self._lock:
            return self._accounts.setdefault(settings, Account(settings))

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
        return owner_of(str(name), self._run, str(_value(scope, "ttl")))


def _value(scope: Scope, name: str) -> Any:
    value = setting(scope, name)
    return "" if value is MISSING or value is None else value
