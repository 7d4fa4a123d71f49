"""Clouds: the accounts a run works in and the mark it leaves there, from the variables of the
inventory."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

from playrunner.aws.client import Account, AwsSettings, settings_of
from playrunner.cloud.intents import Intents
from playrunner.cloud.owner import Owner, owner_of
from playrunner.errors import BadInput
from playrunner.record.ledger import Ledger
from playrunner.variables.origins import setting
from playrunner.variables.scope import Scope
from playrunner.variables.templating import MISSING

if TYPE_CHECKING:
    from playrunner.gcp.project import Project
    from playrunner.gcp.settings import GcpSettings
    from playrunner.kube.client.client import Cluster
    from playrunner.kube.client.config import KubeSettings


class Clouds:
    """One run's accounts, each made when first asked for."""

    def __init__(self, ledger: Ledger) -> None:
        self.intents = Intents(ledger)
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
        from playrunner.kube.client.config import settings_of
        from playrunner.kube.client.open import open_transport

        settings = settings_of(lambda name: _value(scope, name))
        with self._lock:
            return self._clusters.setdefault(
                settings, Cluster(lambda: open_transport(settings, scope))
            )

    def owner(self, scope: Scope) -> Owner:
        name = _value(scope, "cluster_name")
        if not name:
            raise BadInput(
                "cluster_name is not set; it marks everything that is made: give it in the"
                " inventory (all: vars:)"
            )
        return owner_of(str(name), self._run, str(_value(scope, "ttl")))


def _value(scope: Scope, name: str) -> Any:
    found = setting(scope, name)
    return "" if found is MISSING or found is None else found
