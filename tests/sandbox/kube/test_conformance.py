"""The pretend API and a real one do the same: every behaviour, against each of them."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from playrunner.sandbox.kube.process import process
from tests.sandbox.kube.conformance import ApiStage, Behaviour, load
from tests.support.kube.client import Client

BEHAVIOURS = load()


@pytest.fixture(scope="session", params=["pretend", "real"])
def api(request: pytest.FixtureRequest) -> Iterator[Client]:
    """Each API; a kubeconfig in KUBE_CONFORMANCE names a third, instead of the real one."""
    elsewhere = os.environ.get("KUBE_CONFORMANCE")
    if request.param == "real" and elsewhere:
        yield Client(Path(elsewhere))
    else:
        yield Client(process.kubeconfig_file(request.getfixturevalue(f"{request.param}_root")))


@pytest.fixture
def stage(api: Client, behaviour: Behaviour, request: pytest.FixtureRequest) -> Iterator[ApiStage]:
    if behaviour.needs == "controllers" and "pretend" not in request.node.name:
        pytest.skip(
            "this needs the controllers of a control plane, and here is only its API server"
        )
    minor = int("".join(filter(str.isdigit, api.ok("GET", "/version")["minor"])))
    if minor < behaviour.since:
        pytest.skip(f"servers do so since 1.{behaviour.since}, and this is 1.{minor}")
    if minor > behaviour.until:
        pytest.skip(f"servers did so until 1.{behaviour.until}, and this is 1.{minor}")
    name = f"test-{BEHAVIOURS.index(behaviour)}-{os.getpid()}"
    api.ok(
        "POST",
        "/api/v1/namespaces",
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}},
    )
    yield ApiStage(api, name)
    api.ok("DELETE", f"/api/v1/namespaces/{name}")


@pytest.mark.parametrize(
    "behaviour", BEHAVIOURS, ids=lambda one: re.sub(r"[^a-z0-9]+", "-", one.says.lower())
)
def test_the_api_does_as_a_kubernetes_api_does(behaviour: Behaviour, stage: ApiStage) -> None:
    behaviour.check(stage)


def test_there_are_enough_behaviours_and_each_has_a_name_of_its_own() -> None:
    assert len({one.says for one in BEHAVIOURS}) == len(BEHAVIOURS) >= 60
