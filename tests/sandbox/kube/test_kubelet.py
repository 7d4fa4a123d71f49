"""Pods as processes of this machine: what they are given, how they end, and what people ask about
them."""

from __future__ import annotations

import base64
import shutil
import socket
import subprocess
from typing import Any

import pytest

from playrunner.sandbox import state
from playrunner.sandbox.kube.process import process
from tests.support.kube.moving import Cluster, Object
from tests.support.until import until

needs_kubectl = pytest.mark.skipif(shutil.which("kubectl") is None, reason="there is no kubectl")


def _state(cluster: Cluster, name: str) -> Object:
    """Of the pod's first container: its status."""
    found: Object = (
        (cluster.get("pods", name) or {}).get("status", {}).get("containerStatuses") or [{}]
    )[0]
    return found


def _waiting(cluster: Cluster, name: str) -> Object:
    """Why the pod's first container waits."""
    found: Object = _state(cluster, name).get("state", {}).get("waiting") or {}
    return found


def _field(name: str, path: str) -> Object:
    return {"name": name, "valueFrom": {"fieldRef": {"fieldPath": path}}}


def test_a_container_has_the_environment_that_it_declares(either: Cluster) -> None:
    either.create("configmaps", "settings", data={"colour": "green", "size": "3"})
    either.create("secrets", "keys", data={"password": base64.b64encode(b"hush").decode()})
    env = [
        {"name": "PLAIN", "value": "one"},
        {"name": "BOTH", "value": "$(PLAIN) and $(NOBODY) and $$(PLAIN)"},
        _field("NAME", "metadata.name"),
        _field("IP", "status.podIP"),
        _field("NODE", "spec.nodeName"),
        _field("APP", "metadata.labels['app']"),
        {"name": "CPUS", "valueFrom": {"resourceFieldRef": {"resource": "limits.cpu"}}},
        {"name": "COLOUR", "valueFrom": {"configMapKeyRef": {"name": "settings", "key": "colour"}}},
        {"name": "PASSWORD", "valueFrom": {"secretKeyRef": {"name": "keys", "key": "password"}}},
    ]
    container = {
        "env": env,
        "envFrom": [{"prefix": "MAP_", "configMapRef": {"name": "settings"}}],
        "args": ["$(PLAIN)"],
        "resources": {"limits": {"cpu": "1500m"}},
    }
    show = (
        'echo "$BOTH|$NAME|$APP|$CPUS|$COLOUR|$PASSWORD|$MAP_size|$0"; echo $IP; echo $NODE;'
        " hostname"
    )
    lines = either.said(
        "env", "sh", "-c", show, container=container, labels={"app": "demo"}
    ).splitlines()
    pod = either.get("pods", "env") or {}
    assert lines[0] == "one and $(NOBODY) and $(PLAIN)|env|demo|2|green|hush|3|one"
    assert lines[1:] == [pod["status"]["podIP"], pod["spec"]["nodeName"], "env"]
    assert lines[1].startswith("127.")


def test_volumes_are_where_the_container_expects_them(either: Cluster) -> None:
    either.create("configmaps", "code", data={"main.py": "print('from a map')", "other": "x"})
    either.create("secrets", "keys", data={"token": base64.b64encode(b"hush").decode()})
    volumes = [
        {
            "name": "code",
            "configMap": {"name": "code", "items": [{"key": "main.py", "path": "deep/main.py"}]},
        },
        {"name": "keys", "secret": {"secretName": "keys"}},
        {"name": "scratch", "emptyDir": {}},
        {"name": "host", "hostPath": {"path": "/var/lib/demo", "type": "DirectoryOrCreate"}},
        {
            "name": "about",
            "downwardAPI": {
                "items": [{"path": "name", "fieldRef": {"fieldPath": "metadata.name"}}]
            },
        },
        {
            "name": "all",
            "projected": {
                "sources": [{"configMap": {"name": "code"}}, {"secret": {"name": "keys"}}]
            },
        },
    ]
    paths = {
        "code": "/workspace/code",
        "keys": "/etc/keys",
        "scratch": "/scratch",
        "host": "/var/lib/demo",
        "about": "/about",
        "all": "/opt/all",
    }
    mounts = [{"name": name, "mountPath": path} for name, path in paths.items()]
    read = (
        "python /workspace/code/deep/main.py; cat /etc/keys/token; echo; cat /about/name; echo; ls"
        " /opt/all; cat /scratch/note"
    )
    first = {
        "name": "first",
        "image": "any",
        "command": ["sh", "-c", "echo before > /scratch/note"],
        "volumeMounts": mounts,
    }
    output = either.said(
        "volumes",
        "sh",
        "-c",
        read,
        container={"volumeMounts": mounts},
        volumes=volumes,
        initContainers=[first],
    )
    assert output.splitlines() == [
        "from a map",
        "hush",
        "volumes",
        "main.py",
        "other",
        "token",
        "before",
    ]


def test_a_config_map_that_changes_is_seen_by_pods_that_mount_it(cluster: Cluster) -> None:
    cluster.create("configmaps", "hosts", data={"list": "one"})
    volumes = [{"name": "v", "configMap": {"name": "hosts"}}]
    mount = {"volumeMounts": [{"name": "v", "mountPath": "/etc/hosts.d"}]}
    cluster.pod(
        "looks",
        "sh",
        "-c",
        "until grep two /etc/hosts.d/list; do sleep 0.1; done",
        container=mount,
        volumes=volumes,
    )
    cluster.phase("looks", "Running")
    cluster.change("configmaps", "hosts", {"data": {"list": "two"}})
    cluster.phase("looks", "Succeeded")


def test_init_containers_come_first_and_one_that_fails_ends_the_pod(cluster: Cluster) -> None:
    failing = {"name": "first", "image": "any", "command": ["sh", "-c", "exit 7"]}
    cluster.pod("never", "echo", "reached", initContainers=[failing])
    ended = cluster.phase("never", "Failed")
    assert ended["status"]["initContainerStatuses"][0]["state"]["terminated"]["exitCode"] == 7
    assert "terminated" not in _state(cluster, "never")["state"]


def test_a_container_that_fails_is_started_again_and_its_last_words_are_kept(
    either: Cluster,
) -> None:
    either.pod("crashes", "sh", "-c", "echo dying; exit 3", restartPolicy="OnFailure")
    until(
        lambda: _waiting(either, "crashes").get("reason"),
        lambda reason: reason == "CrashLoopBackOff",
    )
    again = until(lambda: _state(either, "crashes"), lambda one: one["restartCount"] >= 2)
    assert again["lastState"]["terminated"]["exitCode"] == 3
    assert either.log("crashes", previous="true") == "dying\n"
    assert "BackOff" in until(lambda: either.reasons("crashes"), lambda told: "BackOff" in told)


def test_an_image_that_cannot_be_pulled_holds_the_pod_up_until_it_can(either: Cluster) -> None:
    image = f"registry/{either.namespace}:1"
    either.control(
        "POST", "faults", {"kind": "image", "match": image, "message": "manifest unknown"}
    )
    either.pod("pulls", "true", container={"image": image})
    until(
        lambda: _waiting(either, "pulls"),
        lambda one: one == {"reason": "ImagePullBackOff", "message": "manifest unknown"},
    )
    either.control("DELETE", "faults")
    either.phase("pulls", "Succeeded")


def test_an_injected_fault_may_hit_the_first_pods_only(cluster: Cluster) -> None:
    match = f"{cluster.namespace}/*"
    cluster.control("POST", "faults", {"kind": "container", "match": match, "times": 1})
    cluster.pod("one", "true")
    until(
        lambda: _waiting(cluster, "one").get("reason"),
        lambda reason: reason == "CreateContainerConfigError",
    )
    cluster.pod("two", "true")
    cluster.phase("two", "Succeeded")
    assert _waiting(cluster, "one").get("reason") == "CreateContainerConfigError"
    cluster.control("DELETE", "faults")


def test_a_missing_config_map_is_named_and_the_pod_goes_on_when_it_comes(cluster: Cluster) -> None:
    env = [{"name": "COLOUR", "valueFrom": {"configMapKeyRef": {"name": "late", "key": "colour"}}}]
    cluster.pod("waits", "sh", "-c", "echo $COLOUR", container={"env": env})
    waiting = until(
        lambda: _waiting(cluster, "waits"),
        lambda one: one.get("reason") == "CreateContainerConfigError",
    )
    assert waiting["message"] == 'configmap "late" not found'
    cluster.create("configmaps", "late", data={"colour": "blue"})
    cluster.phase("waits", "Succeeded")
    assert cluster.log("waits") == "blue\n"


def test_a_container_that_takes_too_much_memory_and_a_pod_that_is_evicted(cluster: Cluster) -> None:
    cluster.pod("fat", "sleep", "100000")
    cluster.phase("fat", "Running")
    cluster.control("POST", f"pods/{cluster.namespace}/fat/oom", {})
    ended = cluster.phase("fat", "Failed")["status"]["containerStatuses"][0]["state"]["terminated"]
    assert (ended["reason"], ended["exitCode"]) == ("OOMKilled", 137)
    cluster.pod("pushed", "sleep", "100000")
    cluster.phase("pushed", "Running")
    cluster.control("POST", f"pods/{cluster.namespace}/pushed/evict", {"message": "low on memory"})
    status = cluster.phase("pushed", "Failed")["status"]
    assert (status["reason"], status["message"]) == ("Evicted", "low on memory")


def test_a_pod_that_is_deleted_may_end_by_itself_first(either: Cluster) -> None:
    volumes: dict[str, Any] = {
        "volumes": [{"name": "v", "hostPath": {"path": f"/leaving/{either.namespace}"}}]
    }
    mount = {"volumeMounts": [{"name": "v", "mountPath": "/out"}]}
    either.pod(
        "polite",
        "sh",
        "-c",
        "trap 'echo bye > /out/said; exit 0' TERM; echo up; sleep 100000 & wait",
        container=mount,
        terminationGracePeriodSeconds=30,
        **volumes,
    )
    either.phase("polite", "Running")
    until(lambda: either.log("polite"), lambda text: text == "up\n")
    node = (either.get("pods", "polite") or {})["spec"]["nodeName"]
    either.delete("pods", "polite")
    until(lambda: either.get("pods", "polite"), lambda pod: pod is None)
    place = process.folder(either.root) / "machines" / node / "leaving" / either.namespace / "said"
    assert place.read_text() == "bye\n"


def test_what_a_container_leaves_behind_ends_with_it(cluster: Cluster) -> None:
    start = (
        "import subprocess; print(subprocess.Popen(['sleep', '100000'],"
        " start_new_session=True).pid, flush=True)"
    )
    pid = int(cluster.said("leaves", "python", "-c", start))
    assert state.command_of(pid) == ""


def test_probes_decide_when_a_container_is_ready_and_when_it_is_started_again(
    cluster: Cluster,
) -> None:
    ask = {"exec": {"command": ["test", "-e", "/signs/ready"]}, "periodSeconds": 1}
    alive = {
        "exec": {"command": ["test", "!", "-e", "/signs/stuck"]},
        "periodSeconds": 1,
        "failureThreshold": 1,
    }
    mount = {
        "volumeMounts": [{"name": "v", "mountPath": "/signs"}],
        "readinessProbe": ask,
        "livenessProbe": alive,
    }
    cluster.pod(
        "asked",
        "sh",
        "-c",
        "rm -f /signs/stuck; sleep 100000",
        container=mount,
        restartPolicy="Always",
        volumes=[{"name": "v", "emptyDir": {}}],
    )
    cluster.phase("asked", "Running")
    assert _state(cluster, "asked")["ready"] is False
    assert cluster.kubectl("exec", "asked", "--", "touch", "/signs/ready").returncode == 0
    until(lambda: _state(cluster, "asked")["ready"], bool)
    assert cluster.kubectl("exec", "asked", "--", "touch", "/signs/stuck").returncode == 0
    until(lambda: _state(cluster, "asked")["restartCount"], lambda count: count >= 1)


def test_names_of_pods_and_services_are_found_inside_pods_and_others_are_not(
    either: Cluster,
) -> None:
    either.create(
        "services",
        "ring",
        spec={"clusterIP": "None", "selector": {"app": "ring"}, "publishNotReadyAddresses": True},
    )
    for number in range(2):
        either.pod(
            f"ring-{number}",
            "sleep",
            "100000",
            labels={"app": "ring"},
            hostname=f"ring-{number}",
            subdomain="ring",
        )
        either.phase(f"ring-{number}", "Running")
    addresses = [
        (either.get("pods", f"ring-{number}") or {})["status"]["podIP"] for number in range(2)
    ]
    until(
        lambda: sum(
            len(one.get("addresses") or ())
            for one in (either.get("endpoints", "ring") or {}).get("subsets") or ()
        ),
        lambda count: count == 2,
    )
    asked = [
        "ring-0.ring",
        f"ring-1.ring.{either.namespace}.svc.cluster.local",
        "friend",
        "nobody.ring",
        "nobody",
    ]
    look = (
        "import socket, sys\nfor name in sys.argv[1:]:\n  try: print(socket.gethostbyname(name))\n"
        "  except socket.gaierror as e: print(e.errno == socket.EAI_NONAME)"
    )
    aliases = [{"ip": "127.9.9.9", "hostnames": ["friend"]}]
    said = either.said("asks", "python", "-c", look, *asked, hostAliases=aliases).splitlines()
    assert said == [*addresses, "127.9.9.9", "True", "True"]


@needs_kubectl
def test_kubectl_follows_logs_runs_commands_and_forwards_ports(either: Cluster) -> None:
    serve = "echo one; python -m http.server 7001 --bind $IP & sleep 1; echo two; wait"
    either.pod("web", "sh", "-c", serve, container={"env": [_field("IP", "status.podIP")]})
    assert (
        either.kubectl("wait", "--for=condition=Ready", "pod/web", "--timeout=60s").returncode == 0
    )
    done = either.kubectl(
        "exec", "-i", "web", "--", "sh", "-c", "cat; hostname; exit 5", input="typed\n"
    )
    assert (done.stdout, done.returncode) == ("typed\nweb\n", 5)
    until(lambda: either.log("web"), lambda text: text.endswith("two\n"))
    environment = {
        "KUBECONFIG": str(process.kubeconfig_file(either.root)),
        "PATH": "/usr/bin:/bin:/usr/local/bin",
    }
    command = ["kubectl", "-n", either.namespace, "port-forward", "pod/web", ":7001"]
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as forward:
        try:
            assert forward.stdout
            port = int(forward.stdout.readline().split()[2].rpartition(":")[2])
            with socket.create_connection(("127.0.0.1", port), timeout=20) as client:
                client.sendall(b"GET / HTTP/1.0\r\n\r\n")
                assert client.recv(100).startswith(b"HTTP/1.0 200")
        finally:
            forward.terminate()
    either.pod("talks", "sh", "-c", "for i in 1 2 3; do echo $i; sleep 0.2; done")
    either.phase("talks", "Running", "Succeeded")
    assert either.kubectl("logs", "-f", "talks").stdout == "1\n2\n3\n"


def test_the_log_of_a_pod_that_waits_says_so(cluster: Cluster) -> None:
    cluster.control("POST", "faults", {"kind": "container", "match": f"{cluster.namespace}/*"})
    cluster.pod("waits", "true")
    until(
        lambda: _waiting(cluster, "waits").get("reason"),
        lambda reason: reason == "CreateContainerConfigError",
    )
    answer = cluster.api.call("GET", cluster.path("pods", "waits", "log"))
    assert (
        answer.code == 400
        and 'container "main" in pod "waits" is waiting to start' in answer.message
    )
    cluster.control("DELETE", "faults")
