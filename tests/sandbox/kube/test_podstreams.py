"""Logs, exec, attach and port-forward: kubectl (which speaks SPDY) and the Python client (which
speaks WebSocket) at one API."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from playrunner.sandbox.kube.http.kubelet import Kubelet
from playrunner.sandbox.kube.process import process
from tests.sandbox.kube.conformance import pod
from tests.support.kube.client import MERGE_PATCH, Client
from tests.support.kube.local import LocalRuntime, served


@dataclass(frozen=True)
class StreamStage:
    """An API with a running pod called one, and what runs it."""

    runtime: LocalRuntime
    kubeconfig: Path
    api: Client
    namespace: str

    @property
    def pods(self) -> str:
        return f"/api/v1/namespaces/{self.namespace}/pods"

    def environment(self) -> dict[str, str]:
        return {**os.environ, "KUBECONFIG": str(self.kubeconfig)}

    def kubectl(self, *words: str, typed: str | None = None) -> subprocess.CompletedProcess[str]:
        command = ["kubectl", "-n", self.namespace, *words]
        return subprocess.run(
            command, env=self.environment(), input=typed, capture_output=True, text=True, timeout=60
        )


@pytest.fixture(params=["inside", "pretend", "real"])
def stage(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[StreamStage]:
    """Pods run inside the API's own process, or by a kubelet that the pretend API or a real one
    asks."""
    runtime = LocalRuntime()
    if request.param == "inside":
        with served(runtime, tmp_path) as kubeconfig:
            yield _with_pod(runtime, kubeconfig, "")
        return
    root = request.getfixturevalue(f"{request.param}_root")
    api = Client(process.kubeconfig_file(root))
    find = lambda namespace, name: api.ok("GET", f"/api/v1/namespaces/{namespace}/pods/{name}")  # noqa: E731
    with Kubelet(runtime, find, process.folder(root)) as kubelet:
        kubelet.start()
        body = {"apiVersion": "v1", "kind": "Node", "metadata": {"generateName": "node-"}}
        node = api.ok("POST", "/api/v1/nodes", body)["metadata"]["name"]
        api.ok(
            "PATCH",
            f"/api/v1/nodes/{node}/status",
            {"status": kubelet.node_status()},
            form=MERGE_PATCH,
        )
        yield _with_pod(runtime, process.kubeconfig_file(root), node)
        api.ok("DELETE", f"/api/v1/nodes/{node}")
        kubelet.shutdown()


def _with_pod(runtime: LocalRuntime, kubeconfig: Path, node: str) -> StreamStage:
    api = Client(kubeconfig)
    body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"generateName": "streams-"}}
    stage = StreamStage(
        runtime, kubeconfig, api, api.ok("POST", "/api/v1/namespaces", body)["metadata"]["name"]
    )
    api.ok("POST", stage.pods, pod(**({"nodeName": node} if node else {})))
    api.ok("PATCH", f"{stage.pods}/one/status", {"status": {"phase": "Running"}}, form=MERGE_PATCH)
    return stage


needs_kubectl = pytest.mark.skipif(shutil.which("kubectl") is None, reason="there is no kubectl")


def test_a_log_is_read_whole_or_from_its_end(stage: StreamStage) -> None:
    for line in ("one", "two", "three"):
        stage.runtime.say(line)
    assert stage.api.ok("GET", f"{stage.pods}/one/log") == "one\ntwo\nthree\n"
    assert stage.api.ok("GET", f"{stage.pods}/one/log", tailLines=1) == "three\n"


def test_the_log_of_a_container_that_is_not_there_is_a_bad_request(stage: StreamStage) -> None:
    answer = stage.api.call("GET", f"{stage.pods}/one/log", container="other")
    assert answer.code == 400 and "container other is not valid for pod one" in answer.message


@needs_kubectl
def test_kubectl_follows_a_log_until_it_ends(stage: StreamStage) -> None:
    stage.runtime.say("first")
    threading.Timer(0.3, stage.runtime.say, ["second", True]).start()
    assert stage.kubectl("logs", "-f", "one").stdout == "first\nsecond\n"


@needs_kubectl
def test_kubectl_runs_a_command_and_hears_its_exit_code(stage: StreamStage) -> None:
    done = stage.kubectl("exec", "one", "--", "sh", "-c", "echo out; echo err >&2; exit 3")
    assert (done.returncode, done.stdout) == (3, "out\n") and "err\n" in done.stderr


@needs_kubectl
def test_kubectl_types_into_a_command(stage: StreamStage) -> None:
    text = "typed\n" * 20_000
    assert stage.kubectl("exec", "-i", "one", "--", "cat", typed=text).stdout == text


@needs_kubectl
def test_kubectl_forwards_a_port(stage: StreamStage) -> None:
    with socket.create_server(("127.0.0.1", 0)) as behind:
        threading.Thread(target=_echo, args=(behind,), daemon=True).start()
        command = [
            "kubectl",
            "-n",
            stage.namespace,
            "port-forward",
            "pod/one",
            f":{behind.getsockname()[1]}",
        ]
        with subprocess.Popen(
            command, env=stage.environment(), stdout=subprocess.PIPE, text=True
        ) as forward:
            try:
                assert forward.stdout
                port = int(forward.stdout.readline().split()[2].rpartition(":")[2])
                for text in (b"hello", b"again"):
                    with socket.create_connection(("127.0.0.1", port), timeout=10) as client:
                        client.sendall(text)
                        assert client.recv(100) == text.upper()
            finally:
                forward.terminate()


def _echo(listener: socket.socket) -> None:
    while True:
        try:
            connection, _ = listener.accept()
        except OSError:
            return
        with connection:
            connection.sendall(connection.recv(100).upper())


@pytest.fixture
def core(stage: StreamStage) -> Any:
    kubernetes = pytest.importorskip("kubernetes", reason="the Python client is not installed")
    return kubernetes.client.CoreV1Api(
        kubernetes.config.new_client_from_config(str(stage.kubeconfig))
    )


def test_the_python_client_runs_a_command(stage: StreamStage, core: Any) -> None:
    from kubernetes.stream import stream

    options = {"stdout": True, "stderr": True, "stdin": False, "tty": False}
    session = stream(
        core.connect_get_namespaced_pod_exec,
        "one",
        stage.namespace,
        command=["sh", "-c", "echo out; echo err >&2; exit 4"],
        _preload_content=False,
        **options,
    )
    session.run_forever(timeout=20)
    assert (session.read_stdout(), session.read_stderr(), session.returncode) == (
        "out\n",
        "err\n",
        4,
    )


def test_the_python_client_has_a_terminal(stage: StreamStage, core: Any) -> None:
    from kubernetes.stream import stream

    options = {"stdout": True, "stderr": False, "stdin": True, "tty": True}
    command = ["sh", "-c", "test -t 1 && echo terminal"]
    assert "terminal" in stream(
        core.connect_get_namespaced_pod_exec, "one", stage.namespace, command=command, **options
    )


def test_without_a_runtime_everything_says_that_nothing_runs(tmp_path: Path) -> None:
    from playrunner.sandbox.kube.wire.runtime import NoRuntime

    with served(NoRuntime(), tmp_path) as kubeconfig:
        api = Client(kubeconfig)
        api.ok("POST", "/api/v1/namespaces/default/pods", pod())
        answer = api.call("GET", "/api/v1/namespaces/default/pods/one/log")
        assert answer.code == 400 and "no process runs pods" in answer.message
        assert (
            api.call("GET", "/api/v1/namespaces/default/pods/one/exec", command="true").message
            == "Upgrade request required"
        )
