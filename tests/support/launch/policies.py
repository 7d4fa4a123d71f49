"""Namespaces with rules for pods, and jobs that are meant for them."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from playrunner.training.kube.job_spec.job import ClusterJob
from playrunner.training.kube.session import ClusterSettings
from tests.support.kube.module_stage import Api
from tests.support.launch.rendering import node, planned

_NUMBERS = itertools.count()
POD_SECURITY = 23  # the minor version since which namespaces have Pod Security Standards by default
POLICIES = 30  # ... and clusters rules of their own, in expressions


def namespace(api: Api, level: str = "", **objects: dict[str, Any]) -> str:
    name = f"team-{next(_NUMBERS)}"
    labels = {"pod-security.kubernetes.io/enforce": level} if level else {}
    api.call("POST", "/api/v1/namespaces", {"metadata": {"name": name, "labels": labels}})
    for plural, spec in objects.items():
        path = f"/api/v1/namespaces/{name}/{plural}"
        said = api.call("POST", path, {"metadata": {"name": "rule"}, "spec": spec})
        assert said["kind"] != "Status", said
        if api.flavour == "real" and plural == "resourcequotas":
            # No controller manager counts here, and a quota that is not counted admits nothing.
            api.status(f"{path}/rule", hard=spec["hard"], used=dict.fromkeys(spec["hard"], "0"))
    return name


def require(api: Api, minor: int, what: str) -> None:
    this = int("".join(filter(str.isdigit, api.get("/version")["minor"])))
    if this < minor:
        pytest.skip(f"servers have {what} since 1.{minor}, and this is 1.{this}")


def require_pod_security(api: Api) -> None:
    require(api, POD_SECURITY, "Pod Security Standards")


def job(home: str, launcher: str = "job", **settings: Any) -> ClusterJob:
    said = ClusterSettings(namespace=home, image="i:1", claim="c", **settings)
    return planned(launcher, "gpt2-micro-smoke", [node("a"), node("b")], 2, said)
