"""A Kubernetes API that answers rubbish is an API that cannot be reached: one line, exit code 4,
and nothing is believed."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from playrunner.errors import HostUnreachable
from playrunner.kube.client.client import Cluster, Kube
from playrunner.kube.client.config import Access
from playrunner.kube.client.errors import KubeError
from playrunner.kube.client.resource import Resource
from playrunner.kube.client.transport import Transport
from playrunner.kube.watch.watch import Collection, watch_until
from playrunner.text import answers
from playrunner.text.answers import BadAnswer
from tests.support.runner import invoke
from tests.support.security.rubbish import JSON, RUBBISH, Said, said, serving

PODS = Resource("v1", "Pod", "pods", True)
POD: dict[str, Any] = {
    "kind": "Pod",
    "apiVersion": "v1",
    "metadata": {"name": "a", "namespace": "b", "resourceVersion": "1"},
}
ASKED: dict[str, Callable[[Kube], Any]] = {
    "get": lambda kube: kube.get(PODS, "b", "a"),
    "list": lambda kube: kube.listing(PODS),
    "apply": lambda kube: kube.apply(PODS, POD),
    "delete": lambda kube: kube.delete(PODS, "b", "a"),
    "discovery": lambda kube: kube.known("apps/v1", "Deployment"),
    "version": lambda kube: kube.read("/version"),
    "watch": lambda kube: watch_until(kube, [Collection(PODS)], lambda seen: "more", 5),
}
# What nothing has to be said about, since a change is answered with some mapping, and a version has
# none that is read here.
FINE = {("delete", "an empty mapping"), ("version", "an empty mapping")}


def kube_at(url: str) -> Kube:
    return Kube(Cluster(lambda: Transport(Access(url, "test"))))


@pytest.mark.parametrize("asked", ASKED)
@pytest.mark.parametrize("answer", RUBBISH)
def test_every_call_to_a_kubernetes_api_that_answers_rubbish_says_so(
    asked: str, answer: str
) -> None:
    if (asked, answer) in FINE:
        pytest.skip("nothing is wrong with it")
    with serving(RUBBISH[answer]) as server, pytest.raises((BadAnswer, KubeError)) as caught:
        ASKED[asked](kube_at(server.url))
    message = str(caught.value)
    assert "\n" not in message and message.isprintable() and len(message) < 400
    if RUBBISH[answer].status == 200:
        assert isinstance(caught.value, BadAnswer) and server.url in message


@pytest.mark.parametrize("answer", ["null", "a list", "html", "an empty mapping"])
def test_a_status_read_from_a_kubernetes_api_that_answers_rubbish_ends_with_4(
    answer: str, tmp_path: Path
) -> None:
    with serving(RUBBISH[answer]) as server:
        kubeconfig = tmp_path / "kubeconfig"
        kubeconfig.write_text(KUBECONFIG % server.url)
        inventory = tmp_path / "inventory.yaml"
        inventory.write_text(
            "all: {hosts: {localhost: {ansible_connection: local}}, vars: {cluster_name: demo}}\n"
        )
        outcome = invoke(
            "nvidia.status", "--kubeconfig", kubeconfig, "--inventory", inventory, state=tmp_path
        )
    assert outcome.code == 4 and "Traceback" not in outcome.text, outcome.text
    assert server.url in outcome.text


def test_what_came_instead_is_described() -> None:
    with serving(RUBBISH["html"]) as server, pytest.raises(BadAnswer) as caught:
        kube_at(server.url).get(PODS, "b", "a")
    assert str(caught.value).startswith(
        f"{server.url}/api/v1/namespaces/b/pods/a answered no JSON but text/html, 43 bytes,"
        " starts with '<html><body>Welcome"
    )


def test_a_page_of_another_server_that_is_not_found_is_no_absence() -> None:
    with (
        serving(Said(b"<h1>No</h1>", "text/html", 404)) as server,
        pytest.raises(BadAnswer, match="answered 404 with text"),
    ):
        kube_at(server.url).get(PODS, "b", "a")
    with serving(said({"kind": "Status", "reason": "NotFound"}, status=404)) as server:
        assert kube_at(server.url).get(PODS, "b", "a") is None
    with serving(Said(b"404 page not found\n", "text/plain", 404)) as server:
        assert kube_at(server.url).resource("more.example/v1", "Thing") is None


@pytest.mark.parametrize(
    "wrong",
    [
        {"metadata": {"name": 5}},
        {"metadata": {"labels": []}},
        {"metadata": {"annotations": {"a": 5}}},
        {"spec": "hello"},
        {"spec": {"containers": {"name": "a"}}},
        {"spec": {"containers": ["a"]}},
        {"spec": {"containers": [{"image": "no name"}]}},
        {"status": []},
        {"status": {"conditions": "none"}},
        {"status": {"conditions": [5]}},
        {"status": {"phase": {}}},
        {"status": {"containerStatuses": [{"name": "a", "restartCount": "many"}]}},
        {"status": {"containerStatuses": [{"name": "a", "state": {"waiting": "long"}}]}},
    ],
)
def test_an_object_with_a_field_of_another_type_is_not_believed(wrong: dict[str, Any]) -> None:
    broken = {**POD, **wrong, "metadata": {**POD["metadata"], **wrong.get("metadata", {})}}
    page = {
        "kind": "PodList",
        "apiVersion": "v1",
        "metadata": {"resourceVersion": "1"},
        "items": [broken],
    }
    with serving(
        lambda method, path: said(page if path.partition("?")[0].endswith("/pods") else broken)
    ) as server:
        kube = kube_at(server.url)
        for asked in ("get", "list", "apply"):
            with pytest.raises(BadAnswer, match="answered something else than was asked for"):
                ASKED[asked](kube)


def test_fields_of_kinds_that_are_not_kubernetes_own_may_be_anything() -> None:
    own = {
        "kind": "Pod",
        "apiVersion": "ours.example/v1",
        "metadata": {"name": "a"},
        "spec": {"containers": 5, "nodeName": []},
    }
    with serving(said(own)) as server:
        found = kube_at(server.url).get(Resource("ours.example/v1", "Pod", "pods", True), "b", "a")
    assert found == own


def test_a_list_whose_pages_never_end_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("playrunner.kube.client.client.MOST_PAGES", 20)
    page = {"kind": "PodList", "metadata": {"continue": "more"}, "items": []}
    with serving(said(page)) as server, pytest.raises(BadAnswer, match="20 pages of a list"):
        kube_at(server.url).listing(PODS)
    assert len(server.asked) == 20


def test_a_list_that_is_too_old_from_its_start_is_given_up() -> None:
    with (
        serving(said({"kind": "Status", "message": "too old"}, status=410)) as server,
        pytest.raises(KubeError, match="too old"),
    ):
        kube_at(server.url).listing(PODS)
    assert len(server.asked) == 1


def test_an_answer_larger_than_any_real_one_is_not_taken_into_memory(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    import gzip

    monkeypatch.setattr(answers, "MOST_BYTES", 1 << 20)
    huge = b'"' + b"a" * (3 << 20) + b'"'
    for big in (Said(huge), Said(gzip.compress(huge), JSON, 200, {"Content-Encoding": "gzip"})):
        with serving(big) as server, pytest.raises(BadAnswer, match="more than 1 MiB"):
            kube_at(server.url).get(PODS, "b", "a")


def test_an_answer_that_is_cut_off_is_asked_for_again() -> None:
    whole = said(POD)
    first = Said(whole.body[:-20], length=len(whole.body))
    with serving(lambda method, path: whole if len(server.asked) > 1 else first) as server:
        assert kube_at(server.url).get(PODS, "b", "a") == POD
    assert len(server.asked) == 2


def test_an_answer_that_comes_a_byte_at_a_time_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    import socket

    monkeypatch.setattr(answers, "ANSWER_SECONDS", 0.3)
    monkeypatch.setattr("playrunner.kube.client.requests.FIRST_SECONDS", 0.5)
    listener = socket.create_server(("127.0.0.1", 0))
    stopped = threading.Event()

    def drip(caller: socket.socket) -> None:
        with caller:
            for byte in b"HTTP/1.1 200 OK\r\nX: " + b"x" * 10_000:
                if stopped.wait(0.02):
                    return
                try:
                    caller.send(bytes([byte]))
                except OSError:
                    return

    def serve() -> None:
        while not stopped.is_set():
            try:
                caller, _ = listener.accept()
            except OSError:
                return
            threading.Thread(target=drip, args=(caller,), daemon=True).start()

    threading.Thread(target=serve, daemon=True).start()
    try:
        with pytest.raises(HostUnreachable, match=r"timed out|does not come to its end"):
            kube_at(f"http://127.0.0.1:{listener.getsockname()[1]}").get(PODS, "b", "a")
    finally:
        stopped.set()
        listener.close()


@pytest.mark.parametrize("told", ["999999999999", "9" * 400, "\xb2", "-1", "soon", "1e9"])
def test_a_server_cannot_make_anyone_wait_long_by_retry_after(
    told: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("playrunner.kube.client.requests.THROTTLED_SECONDS", -1.0)
    monkeypatch.setattr("playrunner.kube.client.requests.RESTART_SECONDS", 0.2)
    slept: list[float] = []
    answer = said({"kind": "Status", "message": "busy"}, status=503, headers={"Retry-After": told})

    def sleep(seconds: float) -> None:
        slept.append(seconds)
        threading.Event().wait(0.05)

    with serving(answer) as server, pytest.raises(KubeError):
        Kube(Cluster(lambda: Transport(Access(server.url))), sleep=sleep).get(PODS, "b", "a")
    assert slept and max(slept) <= 10


KUBECONFIG = """
apiVersion: v1
kind: Config
current-context: test
clusters: [{name: c, cluster: {server: "%s"}}]
contexts: [{name: test, context: {cluster: c}}]
"""
