"""A stage for tests of roles in a cluster: roles are played by the real runner, through an
inventory that leads to a sandbox.

One cluster (API and controllers) is shared by the tests of a process, so objects with fixed names
are everybody's: what a test created through `stage.create` is deleted when it ends. Each test has a
`cluster_name` of its own, which is its owner mark.

    def test_it_comes_and_goes(stage):
        made = stage.create("nvidia", nvidia_timeout=60)      # made.code, made.statuses,
        made.values, made.messages assert stage.object("apps/v1", "daemonsets",
        "nvidia-device-plugin-daemonset", "kube-system") assert stage.create("nvidia").changed == []
        # the second time assert stage.delete("nvidia").code == 0

`stage.api` is the API server as other clients see it (call, get, merge, status); `stage.invoke` is
the command line. `stage.machine` gives the cluster a node that runs pods, `stage.node` one that
does not, `stage.inject_fault` makes something go wrong; all of them, and namespaces of
`stage.namespace()`, go when the test ends.
"""

from __future__ import annotations

import contextlib
import io
import json
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from playrunner.lifecycle.status_and_delete import delete_roles, show_status
from playrunner.options import Options
from playrunner.playbook.playbook import roles_play
from playrunner.run.run import run_plays
from playrunner.sandbox.kube.controllers.control import control_request
from tests.support.aws.module_stage import Run
from tests.support.kube.module_stage import Api
from tests.support.runner import Outcome, invoke
from tests.support.until import until

ROOT = Path(__file__).parents[3]
PATIENCE_SECONDS = 120.0


@dataclass(frozen=True)
class Gone:
    """How a deletion went, or what a status says."""

    code: int
    data: dict[str, Any]


class AddonStage:
    """Plays roles in this process, under a name of the test's own."""

    def __init__(self, api: Api, folder: Path, own: str, *inventories: str) -> None:
        """`inventories` are put before the one that leads to the sandbox."""
        self.api, self.folder, self.own, self.inventories = api, folder, own, inventories
        self.sandbox = api.kubeconfig.parent / "kube"  # where the sandbox keeps its things
        self.variables: dict[str, Any] = {
            "cluster_name": own,
            "kubeconfig": str(api.kubeconfig),
            "kube_context": "",
            "aws_region": "us-west-2",
        }
        self._created: list[tuple[str, dict[str, Any]]] = []
        self._ends: list[Callable[[], Any]] = []  # what else is to be undone

    def create(self, *roles: str, check: bool = False, diff: bool = False, **variables: Any) -> Run:
        """`ROLE.create`, or `ROLE.check`."""
        if not check:
            self._created += [(role, variables) for role in roles]
        options = Options(self._sources(variables), check=check, diff=diff, json=True)
        code, text = heard(lambda: run_plays([roles_play(roles)], options, "create"))
        return Run(code, json.loads(text)["results"], text)

    def delete(self, *roles: str, **variables: Any) -> Gone:
        options = Options(self._sources(variables), yes=True, json=True)
        code, text = heard(lambda: delete_roles(roles, options, "delete", with_kept=True))
        return Gone(code, json.loads(text) if text else {})

    def status(self, *roles: str, **variables: Any) -> Gone:
        options = Options(self._sources(variables), json=True)
        code, text = heard(lambda: show_status(roles, options, "status"))
        return Gone(code, json.loads(text) if text else {})

    def invoke(self, *words: object, **environment: str) -> Outcome:
        """The command line, with this stage's inventory."""
        flags = [word for source in self._sources({}) for word in ("--inventory", source)]
        return invoke(*words[:1], *flags, *words[1:], state=self.folder / "state", **environment)

    def object(self, version: str, plural: str, name: str, namespace: str = "") -> Any:
        """An object of the cluster, or None."""
        return self.api.get(f"{_home(version, plural, namespace)}/{name}")

    def objects(
        self, version: str, plural: str, selector: str = "", namespace: str = ""
    ) -> list[Any]:
        found = self.api.call(
            "GET", f"{_home(version, plural, namespace)}?labelSelector={selector}"
        )
        return list(found.get("items") or ())

    def node(
        self,
        name: str,
        instance_type: str,
        offers: dict[str, Any],
        labels: dict[str, str] | None = None,
    ) -> str:
        """A node without a kubelet, with what it offers; it goes with the test."""
        labels = {
            "node.kubernetes.io/instance-type": instance_type,
            "own": self.own,
            **(labels or {}),
        }
        made = self.api.call(
            "POST", "/api/v1/nodes", {"metadata": {"name": f"{self.own}-{name}", "labels": labels}}
        )
        assert made["kind"] == "Node", made
        self._ends.append(
            lambda: self.api.call("DELETE", f"/api/v1/nodes/{made['metadata']['name']}")
        )
        self.offer(made["metadata"]["name"], offers)
        return str(made["metadata"]["name"])

    def offer(self, node: str, offers: dict[str, Any]) -> None:
        """Have a node say that it is ready, and what it has for pods."""
        there = {name: str(value) for name, value in offers.items()}
        self.api.status(
            f"/api/v1/nodes/{node}",
            allocatable=there,
            capacity=there,
            conditions=[{"type": "Ready", "status": "True", "reason": "KubeletReady"}],
        )

    def machine(
        self,
        name: str,
        instance_type: str,
        devices: dict[str, int],
        labels: dict[str, str] | None = None,
        taints: Sequence[dict[str, str]] = (),
    ) -> str:
        """A node that runs pods; its devices are offered while their plugin runs there."""
        own = f"{self.own}-{name}"
        control_request(
            self.sandbox,
            "POST",
            "nodes",
            {
                "name": own,
                "instance_type": instance_type,
                "devices": devices,
                "labels": {"own": self.own, **(labels or {})},
                "taints": list(taints),
            },
        )
        self._ends.append(lambda: self._lose(own))
        self.awaited(lambda: self.allocatable(own, "cpu") != "0")
        return own

    def _lose(self, machine: str) -> None:
        control_request(self.sandbox, "DELETE", f"nodes/{machine}")
        self.awaited(lambda: self.object("v1", "nodes", machine) is None)

    def allocatable(self, node: str, resource: str) -> str:
        """What a node has for pods; "0" when it speaks of nothing such."""
        found = self.object("v1", "nodes", node) or {}
        return str((found.get("status", {}).get("allocatable") or {}).get(resource, "0"))

    def inject_fault(self, **fields: Any) -> None:
        """Something that goes wrong: kind (image, container, volume), match, times."""
        control_request(self.sandbox, "POST", "faults", fields)
        self._ends.append(lambda: control_request(self.sandbox, "DELETE", "faults"))

    def injected_faults(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = control_request(self.sandbox, "GET", "faults")
        return found

    def namespace(self) -> str:
        """A namespace of the test's own."""
        made = self.api.call("POST", "/api/v1/namespaces", {"metadata": {"name": self.own}})
        assert made["kind"] == "Namespace", made
        self._ends.append(lambda: self.api.call("DELETE", f"/api/v1/namespaces/{self.own}"))
        return self.own

    def claim(self, namespace: str, name: str) -> None:
        """A claim that every pod may write to, bound to a volume of its own."""
        volume = f"{namespace}-{name}"
        size = {
            "capacity": {"storage": "1Gi"},
            "accessModes": ["ReadWriteMany"],
            "storageClassName": "",
        }
        self.api.call(
            "POST",
            "/api/v1/persistentvolumes",
            {
                "metadata": {"name": volume},
                "spec": {
                    **size,
                    "hostPath": {"path": f"/claims/{volume}"},
                    "claimRef": {"namespace": namespace, "name": name},
                },
            },
        )
        self._ends.append(lambda: self.api.call("DELETE", f"/api/v1/persistentvolumes/{volume}"))
        wish = {
            "accessModes": ["ReadWriteMany"],
            "storageClassName": "",
            "volumeName": volume,
            "resources": {"requests": {"storage": "1Gi"}},
        }
        home = f"/api/v1/namespaces/{namespace}/persistentvolumeclaims"
        made = self.api.call("POST", home, {"metadata": {"name": name}, "spec": wish})
        assert made["kind"] == "PersistentVolumeClaim", made

    def awaited(self, look: Callable[[], Any], seconds: float = PATIENCE_SECONDS) -> Any:
        """What a look gives once it gives anything."""
        return until(look, seconds=seconds)

    def later(self, seconds: float, do: Callable[[], Any]) -> None:
        """Something that happens while a role is at work."""
        timer = threading.Timer(seconds, do)
        timer.daemon = True
        timer.start()

    def clean_up(self) -> None:
        """Delete what was created, last first; what is gone already is no matter."""
        while self._created:
            role, variables = self._created.pop()
            self.delete(role, **variables)
        while self._ends:
            self._ends.pop()()

    def _sources(self, variables: dict[str, Any]) -> tuple[str, ...]:
        file = self.folder / "cluster.yaml"
        file.write_text(yaml.safe_dump({"all": {"vars": {**self.variables, **variables}}}))
        return *self.inventories, str(file)


def _home(version: str, plural: str, namespace: str) -> str:
    root = f"/apis/{version}" if "/" in version else f"/api/{version}"
    return f"{root}/namespaces/{namespace}/{plural}" if namespace else f"{root}/{plural}"


def heard(do: Callable[[], int]) -> tuple[int, str]:
    """What a verb said, and its exit code."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        code = do()
    return code, out.getvalue()
