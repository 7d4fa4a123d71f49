"""`/_sandbox/...`: faults, calls, settings; what only the pretend API does."""

from __future__ import annotations

import http.client
import time
from typing import Any

import pytest

from tests.sandbox.kube.conformance import config, pod
from tests.sandbox.kube.conformance.toys import definition
from tests.support.kube.client import Client
from tests.support.until import until

CONFIGS = "/api/v1/namespaces/default/configmaps"


def fault(kube: Client, **wish: object) -> None:
    kube.ok("POST", "/_sandbox/faults", wish)


def test_too_many_requests_says_when_to_come_back(kube: Client) -> None:
    fault(kube, kind="throttle", action="configmaps:create", times=2)
    for _ in range(2):
        answer = kube.call("POST", CONFIGS, config("conf"))
        assert (answer.code, answer.reason, answer.headers["Retry-After"]) == (
            429,
            "TooManyRequests",
            "1",
        )
    assert kube.call("POST", CONFIGS, config("conf")).code == 201


def test_a_server_error_changes_nothing(kube: Client) -> None:
    fault(kube, kind="error", status=503, mutating=True, times=1)
    assert kube.call("POST", CONFIGS, config("conf")).code == 503
    assert kube.call("GET", f"{CONFIGS}/conf").code == 404


def test_a_reset_changes_nothing_and_a_lost_answer_was_done(kube: Client) -> None:
    for kind, there in (("reset", 404), ("lost", 200)):
        fault(kube, kind=kind, action="configmaps:create", times=1)
        with pytest.raises((ConnectionError, http.client.HTTPException, OSError)):
            kube.call("POST", CONFIGS, config(kind))
        assert kube.call("GET", f"{CONFIGS}/{kind}").code == there
        kube.ok("DELETE", "/_sandbox/faults")


def test_a_slow_answer_comes_in_the_end(kube: Client) -> None:
    fault(kube, kind="slow", seconds=0.3, times=1)
    began = time.monotonic()
    assert kube.call("GET", CONFIGS).code == 200 and time.monotonic() - began >= 0.3


def test_a_watch_that_drops_breaks_off_in_the_middle(kube: Client) -> None:
    fault(kube, kind="drop", action="configmaps:watch", seconds=0.2, times=1)
    with pytest.raises((ConnectionError, http.client.HTTPException, OSError)):
        list(kube.watch(CONFIGS, seconds=30))
    assert list(kube.watch(CONFIGS, seconds=1, fieldSelector="metadata.name=none")) == []


def test_an_outage_breaks_everything_off_and_forgets_nothing(kube: Client) -> None:
    kube.ok("POST", CONFIGS, config("conf"))
    watch = kube.watch(CONFIGS, seconds=30)
    assert next(watch)["type"] == "ADDED"
    kube.ok("POST", "/_sandbox/outage", {"seconds": 1.5})
    for use in (lambda: kube.call("GET", CONFIGS), lambda: next(watch)):
        with pytest.raises((ConnectionError, http.client.HTTPException, OSError)):
            use()

    def answer() -> Any:
        try:
            return kube.ok("GET", f"{CONFIGS}/conf")
        except OSError:
            return None

    assert until(answer, what="the end of the outage")["metadata"]["name"] == "conf"


def test_a_denied_request_is_forbidden(kube: Client) -> None:
    fault(kube, kind="deny", action="secrets:*")
    answer = kube.call("GET", "/api/v1/namespaces/default/secrets")
    assert (answer.code, answer.reason) == (403, "Forbidden")


def test_a_fault_that_makes_no_sense_is_refused(kube: Client) -> None:
    assert (
        "unknown kind of fault"
        in kube.call("POST", "/_sandbox/faults", {"kind": "earthquake"}).value["error"]
    )


def test_a_watch_from_a_forgotten_version_is_told_to_list_again(kube: Client) -> None:
    version = kube.ok("GET", CONFIGS)["metadata"]["resourceVersion"]
    kube.ok("POST", CONFIGS, config("conf"))
    kube.ok("POST", "/_sandbox/forget-history", {})
    event = next(iter(kube.watch(CONFIGS, resourceVersion=version)))
    assert (
        event["type"] == "ERROR"
        and event["object"]["code"] == 410
        and event["object"]["reason"] == "Expired"
    )


def test_a_watch_gets_a_bookmark_before_it_ends(kube: Client) -> None:
    kube.ok("POST", CONFIGS, config("conf"))
    last = list(kube.watch(CONFIGS, seconds=1, allowWatchBookmarks="true"))[-1]
    assert last["type"] == "BOOKMARK" and int(last["object"]["metadata"]["resourceVersion"]) > 0


def test_calls_are_remembered_with_what_they_were_about(kube: Client) -> None:
    kube.ok("POST", CONFIGS, config("conf"))
    kube.call("GET", f"{CONFIGS}/nope")
    calls = [(call["action"], call["status"]) for call in kube.ok("GET", "/_sandbox/calls")]
    assert calls[-2:] == [("configmaps:create", 201), ("configmaps:get", 404)]


def test_a_definition_can_be_kept_waiting(kube: Client) -> None:
    kube.ok("POST", "/_sandbox/settings", {"established": 0.6})
    kube.ok(
        "POST",
        "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
        definition("slow.example.com"),
    )
    path = "/apis/slow.example.com/v1/namespaces/default/toys"
    assert kube.call("GET", path).code == 404
    until(lambda: kube.call("GET", path).code, lambda code: code == 200)


def test_the_control_api_wants_the_token_too(kube: Client) -> None:
    assert kube.call("GET", "/_sandbox/calls", token="").code == 401
    assert kube.call("GET", "/_sandbox/health", token="").code == 401


def test_a_reset_leaves_a_new_cluster(kube: Client) -> None:
    kube.ok("POST", CONFIGS, config("conf"))
    kube.ok("POST", "/_sandbox/reset", {})
    assert kube.ok("GET", CONFIGS)["items"] == []
    assert {one["metadata"]["name"] for one in kube.ok("GET", "/api/v1/namespaces")["items"]} >= {
        "default",
        "kube-system",
    }


def test_unknown_fields_are_refused_where_the_client_is_strict_and_told_where_it_is_not(
    kube: Client,
) -> None:
    body = {**config("conf"), "dta": {}}
    answer = kube.call("POST", CONFIGS, body, fieldValidation="Strict")
    assert answer.code == 400 and 'strict decoding error: unknown field "dta"' in answer.message
    warning = kube.call("POST", CONFIGS, body).headers["Warning"]
    assert warning == '299 - "unknown field \\"dta\\""'


def test_discovery_comes_in_one_piece_where_the_client_asks_for_that(kube: Client) -> None:
    accept = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json"
    found = {
        one["metadata"]["name"]: one for one in kube.ok("GET", "/apis", accept=accept)["items"]
    }
    resources = {one["resource"]: one for one in found["apps"]["versions"][0]["resources"]}
    assert resources["deployments"]["scope"] == "Namespaced" and resources["deployments"][
        "shortNames"
    ] == ["deploy"]
    third = kube.ok("GET", "/openapi/v3/apis/apps/v1")
    assert "io.k8s.api.apps.v1.Deployment" in third["components"]["schemas"]


def test_a_quota_keeps_out_what_is_too_much(kube: Client) -> None:
    quota = {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": "small"},
        "spec": {"hard": {"requests.nvidia.com/gpu": "4"}},
    }
    kube.ok("POST", "/api/v1/namespaces/default/resourcequotas", quota)
    body = pod("first")
    body["spec"]["containers"][0]["resources"] = {"limits": {"nvidia.com/gpu": 3}}
    kube.ok("POST", "/api/v1/namespaces/default/pods", body)
    answer = kube.call(
        "POST", "/api/v1/namespaces/default/pods", {**body, "metadata": {"name": "second"}}
    )
    assert (answer.code, answer.reason) == (403, "Forbidden")
    asked = (
        "requested: requests.nvidia.com/gpu=3, used: requests.nvidia.com/gpu=3, limited:"
        " requests.nvidia.com/gpu=4"
    )
    assert f"exceeded quota: small, {asked}" in answer.message
