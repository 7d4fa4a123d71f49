"""Order, comparison and shape of objects, on plain values."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from playrunner.kube.client.resource import Resource, defined_by
from playrunner.kube.objects.compare import as_declared, essence, marked, matches, same
from playrunner.kube.objects.manifest import Source, inline, parse
from playrunner.kube.objects.order import ranked
from playrunner.kube.objects.shape import shape

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3)
    ),
    max_leaves=8,
)


def thing(api_version: str, kind: str, name: str = "x", **more: Any) -> dict[str, Any]:
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": name}, **more}


def test_a_set_is_made_in_the_order_in_which_its_parts_need_each_other() -> None:
    kinds = [
        ("admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration"),
        ("batch.volcano.sh/v1alpha1", "Job"),
        ("apps/v1", "Deployment"),
        ("v1", "Service"),
        ("v1", "ConfigMap"),
        ("rbac.authorization.k8s.io/v1", "RoleBinding"),
        ("v1", "ServiceAccount"),
        ("apiextensions.k8s.io/v1", "CustomResourceDefinition"),
        ("v1", "Namespace"),
    ]
    groups = ranked(inline([thing(*kind) for kind in kinds]))
    assert [(one.api_version, one.kind) for group in groups for one in group] == kinds[::-1]
    assert len(groups) == len(kinds)
    assert (
        ranked(inline([thing(*kind) for kind in kinds]), backwards=True)[0][0].kind
        == "ValidatingWebhookConfiguration"
    )


@given(VALUES)
def test_anything_matches_itself(value: Any) -> None:
    assert matches(value, value)


@pytest.mark.parametrize(
    ("live", "declared", "does"),
    [
        ({"a": 1, "b": 2}, {"a": 1}, True),
        ({"a": 1}, {"a": 2}, False),
        ({}, {"a": None}, True),
        ({"a": {}}, {"a": None}, False),
        ({"p": [{"port": 1, "protocol": "TCP"}]}, {"p": [{"port": 1}]}, True),
        ({"p": [1, 2]}, {"p": [1]}, False),
        ({"a": 1}, {"a": True}, False),
        ({"a": "1"}, {"a": 1}, False),
        ("x", {"a": 1}, False),
    ],
)
def test_only_what_is_declared_is_compared(live: Any, declared: Any, does: bool) -> None:
    assert matches(live, declared) is does


def test_a_field_taken_out_of_a_declaration_is_a_difference() -> None:
    first = marked(thing("v1", "ConfigMap", data={"a": "1", "b": "2"}), {"l": "x"}, "run-1", "ns")
    later = marked(thing("v1", "ConfigMap", data={"a": "1"}), {"l": "x"}, "run-2", "ns")
    assert as_declared(
        first,
        marked(thing("v1", "ConfigMap", data={"a": "1", "b": "2"}), {"l": "x"}, "run-2", "ns"),
    )
    assert matches(first["data"], later["data"]) and not as_declared(first, later)


def test_status_and_bookkeeping_are_no_difference() -> None:
    one = thing("v1", "ConfigMap", data={"a": "1"})
    live = {
        **one,
        "metadata": {"name": "x", "uid": "u", "resourceVersion": "1", "managedFields": []},
        "status": {"x": 1},
    }
    assert same(live, {**one, "metadata": {"name": "x", "resourceVersion": "2"}})
    assert not same(live, {**one, "data": {"a": "2"}})


def test_a_secret_s_text_is_coded_and_never_part_of_what_is_shown() -> None:
    made = marked(thing("v1", "Secret", stringData={"key": "hunter2"}), {}, "run")
    assert made["data"] == {"key": "aHVudGVyMg=="} and "stringData" not in made
    assert "aHVudGVyMg" not in str(essence(made))


def test_objects_that_are_alike_have_one_shape() -> None:
    def config(name: str, **data: Any) -> object:
        return shape(thing("v1", "ConfigMap", name, data=data))

    assert config("one", a="1", b="text") == config("two", c="other")
    assert config("one", a="1") != config("Two", a="1"), (
        "a name that is not allowed is another shape"
    )
    assert config("one", a="1") != config("one", a=1)

    def service(**port: Any) -> object:
        return shape(thing("v1", "Service", spec={"ports": [port]}))

    assert service(port=80) == service(port=443) != service(port=70000)
    assert service(port=80, protocol="TCP") != service(port=80, protocol="TPC")
    assert service(port=80) != service(prot=80)


@given(VALUES)
def test_every_object_has_a_shape_of_which_its_copy_has_the_same(value: Any) -> None:
    one = {**thing("v1", "ConfigMap"), "spec": value}
    assert hash(shape(one)) == hash(shape(copy.deepcopy(one)))


def test_lists_and_empty_documents_are_taken_apart() -> None:
    text = (
        "# nothing\n---\n---\napiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: Pod,"
        " metadata: {name: a}}\n---\n"
    )
    assert [one.title for one in parse(Source(text, "f"))] == ["Pod a"]


def test_a_definition_tells_the_paths_of_its_objects() -> None:
    crd = {
        "spec": {
            "group": "scheduling.volcano.sh",
            "scope": "Cluster",
            "names": {"kind": "Queue", "plural": "queues"},
            "versions": [{"name": "v1beta1", "served": True}, {"name": "v1", "served": False}],
        }
    }
    (queue,) = defined_by(crd)
    assert queue.path(name="test") == "/apis/scheduling.volcano.sh/v1beta1/queues/test"
    assert Resource("v1", "Pod", "pods", True).path("ns", "a") == "/api/v1/namespaces/ns/pods/a"
    roles = Resource("rbac.authorization.k8s.io/v1", "ClusterRole", "clusterroles", False)
    assert (
        roles.path(name="system:node")
        == "/apis/rbac.authorization.k8s.io/v1/clusterroles/system%3Anode"
    )
