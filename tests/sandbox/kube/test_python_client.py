"""The official `kubernetes` package against the pretend API and a real one: what programs of
others do works on both."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from playrunner.sandbox.kube.process import process
from tests.sandbox.kube.conformance import config, deployment, job
from tests.support.until import until

kubernetes: Any = pytest.importorskip("kubernetes", reason="the Python client is not installed")
KIND = {"group": "tests.playrunner.io", "version": "v1", "plural": "toys"}
SCHEMA = {
    "type": "object",
    "properties": {
        "spec": {"type": "object", "properties": {"size": {"type": "integer", "maximum": 10}}}
    },
}


@dataclass(frozen=True)
class Official:
    """A client of the package, and a namespace of its own."""

    client: Any
    namespace: str

    @property
    def core(self) -> Any:
        return kubernetes.client.CoreV1Api(self.client)

    @property
    def apps(self) -> Any:
        return kubernetes.client.AppsV1Api(self.client)

    @property
    def batch(self) -> Any:
        return kubernetes.client.BatchV1Api(self.client)


@pytest.fixture(params=["pretend", "real"])
def official(request: pytest.FixtureRequest) -> Iterator[Official]:
    kubeconfig = process.kubeconfig_file(request.getfixturevalue(f"{request.param}_root"))
    client = kubernetes.config.new_client_from_config(str(kubeconfig))
    core = kubernetes.client.CoreV1Api(client)
    name = core.create_namespace({"metadata": {"generateName": "official-"}}).metadata.name
    yield Official(client, name)
    core.delete_namespace(name)


def test_objects_come_as_its_own_classes_and_go(official: Official) -> None:
    made = official.apps.create_namespaced_deployment(official.namespace, deployment(replicas=2))
    assert (made.spec.replicas, made.spec.strategy.type) == (2, "RollingUpdate")
    patched = official.apps.patch_namespaced_deployment(
        "web", official.namespace, {"spec": {"replicas": 5}}
    )
    assert (patched.spec.replicas, patched.metadata.generation) == (5, 2)
    scale = official.apps.read_namespaced_deployment_scale("web", official.namespace)
    assert scale.spec.replicas == 5
    official.apps.delete_namespaced_deployment("web", official.namespace)
    with pytest.raises(kubernetes.client.ApiException) as gone:
        official.apps.read_namespaced_deployment("web", official.namespace)
    assert gone.value.status == 404 and "NotFound" in gone.value.body


def test_a_stale_version_and_a_wrong_field_are_refused(official: Official) -> None:
    first = official.core.create_namespaced_config_map(official.namespace, config("conf", a="1"))
    official.core.patch_namespaced_config_map("conf", official.namespace, {"data": {"a": "2"}})
    first.data = {"a": "3"}
    with pytest.raises(kubernetes.client.ApiException) as stale:
        official.core.replace_namespaced_config_map("conf", official.namespace, first)
    assert stale.value.status == 409
    with pytest.raises(kubernetes.client.ApiException) as wrong:
        official.batch.create_namespaced_job(official.namespace, job(backoffLimit=-1))
    assert wrong.value.status == 422 and "backoffLimit" in wrong.value.body


def test_pages_and_selectors_of_a_list(official: Official) -> None:
    for number in range(5):
        body = config(f"conf-{number}", a=str(number))
        body["metadata"]["labels"] = {"odd": str(number % 2 == 1).lower()}
        official.core.create_namespaced_config_map(official.namespace, body)
    pages, more = [], None
    while more != "":
        page = official.core.list_namespaced_config_map(
            official.namespace, label_selector="odd in (true, false)", limit=2, _continue=more
        )
        pages.append([item.metadata.name for item in page.items])
        more = page.metadata._continue or ""
    assert pages == [["conf-0", "conf-1"], ["conf-2", "conf-3"], ["conf-4"]]
    odd = official.core.list_namespaced_config_map(official.namespace, label_selector="odd=true")
    assert [item.metadata.name for item in odd.items] == ["conf-1", "conf-3"]


def test_a_watch_tells_what_happens_after_a_list(official: Official) -> None:
    listed = official.core.list_namespaced_config_map(official.namespace)
    official.core.create_namespaced_config_map(official.namespace, config("seen", a="1"))
    official.core.patch_namespaced_config_map("seen", official.namespace, {"data": {"a": "2"}})
    official.core.delete_namespaced_config_map("seen", official.namespace)
    told = []
    watch = kubernetes.watch.Watch()
    for event in watch.stream(
        official.core.list_namespaced_config_map,
        official.namespace,
        resource_version=listed.metadata.resource_version,
        timeout_seconds=20,
    ):
        if event["object"].metadata.name == "seen":
            told.append((event["type"], event["object"].data["a"]))
        if event["type"] == "DELETED":
            watch.stop()
    assert told == [("ADDED", "1"), ("MODIFIED", "2"), ("DELETED", "2")]


def test_kinds_of_operators(official: Official) -> None:
    extensions = kubernetes.client.ApiextensionsV1Api(official.client)
    custom = kubernetes.client.CustomObjectsApi(official.client)
    name = f"{KIND['plural']}.{KIND['group']}"
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": SCHEMA}}
    extensions.create_custom_resource_definition(
        {
            "metadata": {"name": name},
            "spec": {
                "group": KIND["group"],
                "scope": "Namespaced",
                "names": {"kind": "Toy", "plural": KIND["plural"]},
                "versions": [version],
            },
        }
    )
    try:
        until(lambda: _is_established(extensions, name), what="the kind served")
        toy = {
            "apiVersion": f"{KIND['group']}/v1",
            "kind": "Toy",
            "metadata": {"name": "ball"},
            "spec": {"size": 3},
        }
        here = {**KIND, "namespace": official.namespace}
        until(lambda: _made(custom, here, toy), what="a toy")
        toy["metadata"] = {"name": "large"}
        toy["spec"] = {"size": 11}
        with pytest.raises(kubernetes.client.ApiException) as refused:
            custom.create_namespaced_custom_object(**here, body=toy)
        assert refused.value.status == 422 and "spec.size" in refused.value.body
        toys = custom.list_namespaced_custom_object(**here)["items"]
        assert [each["metadata"]["name"] for each in toys] == ["ball"]
    finally:
        extensions.delete_custom_resource_definition(name)


def _is_established(extensions: Any, name: str) -> bool:
    status = extensions.read_custom_resource_definition(name).status
    conditions = (status and status.conditions) or []
    return any(each.type == "Established" and each.status == "True" for each in conditions)


def _made(custom: Any, here: dict[str, str], toy: dict[str, Any]) -> bool:
    """A server may take a moment longer to serve the kind than to say so."""
    try:
        custom.create_namespaced_custom_object(**here, body=toy)
    except kubernetes.client.ApiException as error:
        if error.status != 404:
            raise
        return False
    return True
