"""What every Kubernetes API server does, one named behaviour at a time; the pretend server and a
real one must agree.

A behaviour is a sentence and a function of a `ApiStage`: a client, and a namespace of its own.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from tests.support.kube.client import APPLY_PATCH, Answer, Client
from tests.support.until import until


@dataclass(frozen=True)
class ApiStage:
    """Where one behaviour is tried."""

    api: Client
    namespace: str

    def core(self, plural: str, name: str = "", sub: str = "") -> str:
        """The path of something in the core group, in our namespace."""
        return "/".join(filter(None, [f"/api/v1/namespaces/{self.namespace}/{plural}", name, sub]))

    def apps(self, plural: str, name: str = "", sub: str = "") -> str:
        return "/".join(
            filter(None, [f"/apis/apps/v1/namespaces/{self.namespace}/{plural}", name, sub])
        )

    def group(self, api: str, plural: str, name: str = "", sub: str = "") -> str:
        return "/".join(
            filter(None, [f"/apis/{api}/namespaces/{self.namespace}/{plural}", name, sub])
        )

    def config(self, name: str = "conf", **data: str) -> dict[str, Any]:
        """Make a ConfigMap."""
        made: dict[str, Any] = self.api.ok("POST", self.core("configmaps"), config(name, **data))
        return made

    def apply(self, path: str, body: dict[str, Any], manager: str, **query: Any) -> Answer:
        return self.api.call("PATCH", path, body, form=APPLY_PATCH, fieldManager=manager, **query)

    def applied(
        self, path: str, body: dict[str, Any], manager: str, **query: Any
    ) -> dict[str, Any]:
        answer = self.apply(path, body, manager, **query)
        assert answer.code < 300, answer.message
        found: dict[str, Any] = answer.value
        return found

    def eventually(self, holds: Callable[[], Any], seconds: float = 20) -> Any:
        """Look until it holds."""
        return until(holds, seconds=seconds)


@dataclass(frozen=True)
class Behaviour:
    """One thing that a server does."""

    says: str
    check: Callable[[ApiStage], None]
    needs: str = ""  # "controllers": something of the control plane beside the API server
    since: int = 0  # the minor version of the first real server that is known to do so
    until: int = 999  # and of the last one; the pretend API is a 1.33 in this


BEHAVIOURS: list[Behaviour] = []


def behaviour(
    says: str, needs: str = "", since: int = 0, until: int = 999
) -> Callable[[Callable[[ApiStage], None]], Callable[[ApiStage], None]]:
    def add(check: Callable[[ApiStage], None]) -> Callable[[ApiStage], None]:
        BEHAVIOURS.append(Behaviour(says, check, needs, since, until))
        return check

    return add


def config(name: str = "conf", **data: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}


def pod_spec(image: str = "nginx:1.25", **more: Any) -> dict[str, Any]:
    return {"containers": [{"name": "main", "image": image}], **more}


def pod(name: str = "one", **more: Any) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": pod_spec(**more)}


def deployment(name: str = "web", replicas: int = 2, **more: Any) -> dict[str, Any]:
    spec = {
        "replicas": replicas,
        "selector": {"matchLabels": {"app": name}},
        "template": {"metadata": {"labels": {"app": name}}, "spec": pod_spec(**more)},
    }
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name}, "spec": spec}


def job(name: str = "work", **more: Any) -> dict[str, Any]:
    template = {"spec": pod_spec(restartPolicy="Never")}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name},
        "spec": {"template": template, **more},
    }


def refused(answer: Answer, code: int, reason: str, *words: str) -> None:
    """The answer is this refusal, and says these words."""
    assert (answer.code, answer.reason) == (code, reason), (
        f"{answer.code} {answer.reason}: {answer.message}"
    )
    for word in words:
        assert word in answer.message, answer.message
    assert answer.value["kind"] == "Status" and answer.value["status"] == "Failure"


def load() -> list[Behaviour]:
    """Every behaviour, from every file of this folder."""
    for file in sorted(Path(__file__).parent.glob("[a-z]*.py")):
        import_module(f"{__name__}.{file.stem}")
    return BEHAVIOURS
